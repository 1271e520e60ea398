/**
 * What happens in a cluster without Lifeboat: migrations progress, people act.
 * Owns: these steps. Does not own: the objects (cluster.ts), the control plane (control-plane.ts),
 * Lifeboat's passes (pass.ts).
 */
import { decideEviction, type EvictionDecision } from "../../../shared/policy/eviction.ts";
import { isFinal, keyOf, type MigrationFacts, type PodFacts, type VmiFacts } from "../../../shared/policy/facts.ts";
import { decideCancel } from "../../../shared/policy/giving-up.ts";
import { growKubeVirts } from "./budgets.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { reckon } from "./control-plane.ts";
import { launcherOn } from "./pods.ts";

function vmiOf(cluster: SimulatedCluster, { namespace, vmiName }: MigrationFacts): VmiFacts | undefined {
  return cluster.vmis.get(keyOf({ namespace, name: vmiName }));
}

/** One step further: pending, running with a target pod that is not ready yet, then ready, and then the end. */
export function progress(cluster: SimulatedCluster, m: MigrationFacts, outcome: "Succeeded" | "Failed"): void {
  const vmi = vmiOf(cluster, m);
  if (vmi === undefined || isFinal(m)) return;
  const uid = `pod-${m.uid}`;
  const target = cluster.pods.get(uid);
  if (m.phase === "Pending" && !isFinal(vmi)) return start(cluster, vmi, m, uid);
  if (target === undefined || isFinal(vmi) || outcome === "Failed") return fail(cluster, m, target);
  if (target.ready) return arrive(cluster, vmi, m, target);
  // A pod has long been seen by the disruption controller when it becomes ready.
  reckon(cluster);
  cluster.pods.put({ ...target, ready: true });
}

function start(cluster: SimulatedCluster, vmi: VmiFacts, m: MigrationFacts, uid: string): void {
  const nodeName = vmi.nodeName === "node09" ? "node08" : "node09";
  growKubeVirts(cluster, vmi);
  reckon(cluster);
  cluster.migrations.set(keyOf(m), { ...m, phase: "Running" });
  cluster.pods.put({ ...launcherOn(vmi, uid, nodeName), ready: false });
  cluster.update(vmi, { activePods: { ...vmi.activePods, [uid]: nodeName } });
}

/** The target takes its time to end. */
function fail(cluster: SimulatedCluster, m: MigrationFacts, target: PodFacts | undefined): void {
  cluster.migrations.set(keyOf(m), { ...m, phase: "Failed" });
  if (target !== undefined) cluster.pods.put({ ...target, deleting: true });
}

function arrive(cluster: SimulatedCluster, vmi: VmiFacts, m: MigrationFacts, { uid, nodeName = "" }: PodFacts): void {
  cluster.migrations.set(keyOf(m), { ...m, phase: "Succeeded" });
  cluster.chronicle.arrive(uid, cluster.now);
  for (const one of cluster.pods.of(vmi)) {
    if (one.uid !== uid) cluster.pods.put({ ...one, phase: "Succeeded", ready: false });
  }
  cluster.update(vmi, { nodeName, activePods: { [uid]: nodeName } }, "evacuationNodeName");
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
export function launcherOf(cluster: SimulatedCluster, vmi: VmiFacts): PodFacts {
  return cluster.pods.guestOf(vmi) ?? launcherOn(vmi, `pod-${vmi.uid}`, vmi.nodeName);
}

/** What the eviction of the guest's pod would get now: everything that is asked for is known. */
export function rulingOn(cluster: SimulatedCluster, vmi: VmiFacts): EvictionDecision {
  const { now, settings } = cluster;
  const budgets = [...cluster.budgets.values()];
  const migrations = [...cluster.migrations.values()].filter((m) => vmiOf(cluster, m)?.uid === vmi.uid);
  const request = { username: "admin", cause: "ApiEviction" } as const;
  return decideEviction({ pod: launcherOf(cluster, vmi), vmi, request, settings, now, budgets, migrations });
}

/** Asks as the door does, and marks before the answer. */
export function evict(cluster: SimulatedCluster, vmi: VmiFacts): EvictionDecision | "Conflict" {
  const decision = rulingOn(cluster, vmi);
  if (decision.verdict === "Ask") return decision;
  return decision.actions.every((action) => cluster.act(action) === "Done") ? decision : "Conflict";
}

export function cancel(cluster: SimulatedCluster, vmi: VmiFacts): void {
  const migrations = [...cluster.migrations.values()].filter((m) => vmiOf(cluster, m)?.uid === vmi.uid);
  const tainted = vmi.nodeName !== undefined && cluster.tainted.has(vmi.nodeName);
  const decision = decideCancel({ vmi, migrations, tainted }, cluster);
  if (decision.verdict === "Cancel") decision.actions.every((action) => cluster.act(action) === "Done");
}
