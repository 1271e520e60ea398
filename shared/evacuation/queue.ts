/** Checks how long a migration has waited in KubeVirt's queue, and whether KubeVirt could start another migration. */
import { migratingVmis } from "../facts/questions.ts";
import type { MigrationFacts } from "../kube/facts.ts";
import { secondsSince } from "../settings/time.ts";
import { type EvacuationCase, inheritedAttempts } from "./world.ts";

/** The maximum number of doublings. Without it, the factor could be infinite, and 0 s times infinity would be NaN. */
const MOST_DOUBLINGS = 32;

export function doubled(first: number, failures: number, most: number): number {
  return Math.min(first * 2 ** Math.min(Math.max(failures - 1, 0), MOST_DOUBLINGS), most);
}

export const KUBEVIRT_SECONDS = 20;
const MOST_KUBEVIRT_SECONDS = 320;

/** Returns whether a migration without a target pod has waited `stuckSeconds` longer than KubeVirt's own back-off. */
export function isOverdueInQueue(m: MigrationFacts, { e, w }: EvacuationCase): boolean {
  if (m.targetPod !== undefined || m.phase === "Scheduling") return false;
  const attempts = inheritedAttempts(e);
  const backoff = attempts === 0 ? 0 : doubled(KUBEVIRT_SECONDS, attempts, MOST_KUBEVIRT_SECONDS);
  return secondsSince(m.createdAt, w.now) >= w.settings.evacuation.stuckSeconds + backoff;
}

/**
 * Returns whether KubeVirt could start another migration from the VM's node. KubeVirt's limits apply only to migrations
 * that have a target pod.
 */
export function hasPlace({ vmi, w }: EvacuationCase): boolean {
  const running = migratingVmis(w.facts);
  const leaving = running.filter(({ nodeName }) => nodeName === vmi.nodeName);
  const { parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode } = w.settings.limits;
  return running.length < parallelMigrationsPerCluster && leaving.length < parallelOutboundMigrationsPerNode;
}
