/**
 * What a descheduling cycle reads: every node and pod, and what else the policy needs.
 *
 * Evacuations come first: one that begins later is found by the look before its request. VMIs come after the pods: a launcher pod whose VMI
 * is missing has lost it.
 */
import type { Cluster } from "../../cluster/cluster.ts";
import type { PolicyNeeds } from "../cycle/policy.ts";
import type { CycleWorld } from "../cycle/cycle.ts";
import { keyOf, type VmiFacts } from "../../policy/facts.ts";
import { isLauncher } from "../../policy/kube/pod-kind.ts";

export type ObservedCycle = Omit<CycleWorld, "policy" | "settings" | "inBackground" | "until" | "now">;

export async function observeCycle(cluster: Cluster, needs: PolicyNeeds): Promise<ObservedCycle> {
  const evacuations = await cluster.listEvacuations("Active");
  const [nodes, pods, namespaces, budgets, storageClasses, priorityClasses] = await Promise.all([
    cluster.listDeschedulerNodes(),
    cluster.listDeschedulerPods(),
    needs.namespaces ? cluster.listNamespaceLabels() : new Map<string, never>(),
    needs.budgets ? cluster.listAllBudgets() : [],
    needs.claims ? cluster.listStorageClassesOfClaims() : new Map<string, never>(),
    priorityClassesOf(needs, cluster),
  ]);
  const vmis = pods.some(isLauncher) ? await cluster.listVmis("All") : [];
  return {
    evacuations,
    nodes,
    pods,
    namespaces,
    storageClasses,
    priorityClasses,
    budgets: Map.groupBy(budgets, (budget) => budget.namespace),
    vmis: new Map(vmis.map((vmi: VmiFacts) => [keyOf(vmi), vmi])),
  };
}

async function priorityClassesOf(
  { priorityClasses }: PolicyNeeds,
  cluster: Cluster,
): Promise<ReadonlyMap<string, number>> {
  const read = priorityClasses.map(async (name) => [name, await cluster.getPriorityClassValue(name)] as const);
  const found = await Promise.all(read);
  return new Map(found.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])));
}
