/**
 * What surrounds VMIs: their budgets, tainted nodes, where migrations come from.
 * Owns: those readings. Does not own: their order (world.ts).
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { BudgetFacts, MigrationFacts, NamespacedName, VmiFacts } from "../policy/facts.ts";
import { isFinal, keyOf } from "../policy/facts.ts";
import type { Settings } from "../policy/settings.ts";

export async function budgetsAround(vmis: readonly VmiFacts[], cluster: Cluster): Promise<readonly BudgetFacts[]> {
  const namespaces = [...new Set(vmis.map((vmi) => vmi.namespace))];
  return (await Promise.all(namespaces.map((namespace) => cluster.listBudgets(namespace)))).flat();
}

/** Only an evacuation that the taint began depends on it. New ones begin with a look at everything. */
export async function taintedAmong(
  vmis: readonly VmiFacts[],
  cluster: Cluster,
  settings: Settings,
): Promise<Set<string>> {
  const begun = vmis.flatMap((vmi) => (vmi.record?.cause === "DrainTaint" && vmi.nodeName ? [vmi.nodeName] : []));
  const nodes = await Promise.all([...new Set(begun)].map((name) => cluster.getNode(name)));
  return new Set(nodes.flatMap((node) => (node && carries(node.taints, settings) ? [node.name] : [])));
}

/** Upstream: only the effect NoSchedule counts. */
export function carries(taints: readonly { key: string; effect: string }[], { drainTaintKey }: Settings): boolean {
  return taints.some((taint) => taint.key === drainTaintKey && taint.effect === "NoSchedule");
}

/** A migration that has hardly begun does not tell which node it leaves: then it is the one its VMI is on. */
export async function locate(migrations: readonly MigrationFacts[], vmis: readonly VmiFacts[], cluster: Cluster) {
  const nodeOf = new Map(vmis.map((vmi) => [keyOf(vmi), vmi.nodeName]));
  const lost = migrations.filter((m) => !isFinal(m) && !hasSource(m) && !nodeOf.has(keyOf(vmiKey(m))));
  for (const m of lost) nodeOf.set(keyOf(vmiKey(m)), (await cluster.getVmi(vmiKey(m)))?.nodeName);
  return migrations.map((m) => located(m, nodeOf));
}

export function located(m: MigrationFacts, nodeOf: ReadonlyMap<string, string | undefined>): MigrationFacts {
  const sourceNode = hasSource(m) || isFinal(m) ? undefined : nodeOf.get(keyOf(vmiKey(m)));
  return sourceNode === undefined ? m : { ...m, sourceNode };
}

function hasSource(m: MigrationFacts): boolean {
  return m.sourceNode !== undefined || m.evacuates !== undefined;
}

function vmiKey(m: MigrationFacts): NamespacedName {
  return { namespace: m.namespace, name: m.vmiName };
}
