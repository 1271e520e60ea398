/**
 * What happens in a cluster without Lifeboat: migrations progress, the disruption controller reckons, people act.
 * Owns: these steps. Does not own: the objects (cluster.ts), Lifeboat's passes (pass.ts).
 */
import { decideEviction, type EvictionDecision } from "../../../shared/policy/eviction.ts";
import {
  type BudgetFacts,
  isFinal,
  keyOf,
  type MigrationFacts,
  type PodFacts,
  type VmiFacts,
} from "../../../shared/policy/facts.ts";
import { decideCancel } from "../../../shared/policy/giving-up.ts";
import { pod } from "../fixtures.ts";
import type { SimulatedCluster } from "./cluster.ts";

function vmiOf(cluster: SimulatedCluster, { namespace, vmiName }: MigrationFacts): VmiFacts | undefined {
  return cluster.vmis.get(keyOf({ namespace, name: vmiName }));
}

/** One step further: pending, running with a target pod, and then the end. */
export function progress(cluster: SimulatedCluster, m: MigrationFacts, outcome: "Succeeded" | "Failed"): void {
  const vmi = vmiOf(cluster, m);
  if (vmi === undefined || isFinal(m)) return;
  const phase = m.phase === "Pending" ? "Running" : outcome;
  cluster.migrations.set(keyOf(m), { ...m, phase });
  cluster.activePods.set(vmi.uid, phase === "Running" ? 2 : 1);
  if (phase !== "Succeeded") return;
  const nodeName = vmi.nodeName === "node09" ? "node08" : "node09";
  cluster.update(vmi, { nodeName, activePods: { [`pod-${vmi.uid}`]: nodeName } }, "evacuationNodeName");
}

/** The disruption controller: every status is what it has to be. */
export function reckon(cluster: SimulatedCluster): void {
  for (const budget of cluster.budgets.values()) {
    const uid = budget.owners[0]?.uid ?? "";
    const pods = cluster.activePods.get(uid) ?? 0;
    const desiredHealthy = typeof budget.minAvailable === "number" ? budget.minAvailable : 0;
    const counts = { currentHealthy: pods, desiredHealthy, expectedPods: pods };
    const disruptionsAllowed = Math.max(0, pods - desiredHealthy);
    const status = { observedGeneration: budget.generation, disruptionsAllowed, ...counts };
    cluster.budgets.set(keyOf(budget), { ...budget, status });
  }
}

/** KubeVirt's evacuation controller: a migration for every mark, whatever the limits. */
export function evacuateByKubeVirt(cluster: SimulatedCluster): void {
  for (const vmi of cluster.vmis.values()) {
    const marked = vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === vmi.nodeName;
    const strategy = vmi.evictionStrategy === "LiveMigrate" || vmi.evictionStrategy === "LiveMigrateIfPossible";
    const busy = cluster.unfinished().some((m) => vmiOf(cluster, m)?.uid === vmi.uid);
    if (!marked || !strategy || busy || !vmi.liveMigratable.migratable || isFinal(vmi)) continue;
    const key = { namespace: vmi.namespace, name: `kubevirt-evacuation-${cluster.version()}` };
    cluster.put(key, vmi, { evacuates: vmi.nodeName ?? "" });
  }
}

/** The launcher pod that runs the guest now. */
export function launcherOf(vmi: VmiFacts): PodFacts {
  return pod({
    namespace: vmi.namespace,
    name: `virt-launcher-${vmi.name}-x7k2p`,
    uid: `pod-${vmi.uid}`,
    labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": vmi.uid },
    annotations: { "kubevirt.io/domain": vmi.name },
    owners: [{ kind: "VirtualMachineInstance", name: vmi.name, uid: vmi.uid, controller: true }],
    ...(vmi.nodeName === undefined ? {} : { nodeName: vmi.nodeName }),
  });
}

/** Asks as the door does: decides again with what is asked for, and marks before the answer. */
export function evict(cluster: SimulatedCluster, vmi: VmiFacts): EvictionDecision | "Conflict" {
  const { now, settings } = cluster;
  const budgets = [...cluster.budgets.values()];
  const migrations = [...cluster.migrations.values()].filter((m) => vmiOf(cluster, m)?.uid === vmi.uid);
  const request = { username: "admin", cause: "ApiEviction" } as const;
  const decision = decideEviction({ pod: launcherOf(vmi), vmi, request, settings, now, budgets, migrations });
  if (decision.verdict === "Ask") return decision;
  return decision.actions.every((action) => cluster.act(action) === "Done") ? decision : "Conflict";
}

/** What the API server makes of an eviction that admission let through: the VM is lost, or a budget refuses. */
export function refusedByBudget(budgets: readonly BudgetFacts[], vmi: VmiFacts): boolean {
  const own = budgets.filter((b) => b.owners.some((o) => o.uid === vmi.uid));
  return own.some((b) => b.generation !== b.status.observedGeneration || b.status.disruptionsAllowed === 0);
}

export function cancel(cluster: SimulatedCluster, vmi: VmiFacts): void {
  const migrations = [...cluster.migrations.values()].filter((m) => vmiOf(cluster, m)?.uid === vmi.uid);
  const tainted = vmi.nodeName !== undefined && cluster.tainted.has(vmi.nodeName);
  const decision = decideCancel({ vmi, migrations, tainted }, cluster);
  if (decision.verdict === "Cancel") decision.actions.every((action) => cluster.act(action) === "Done");
}
