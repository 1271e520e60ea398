/** KubeVirt's queue of migrations: when one has waited in it for too long, and whether there is a place in it. */
import { migratingVmis } from "../facts/questions.ts";
import type { MigrationFacts } from "../kube/facts.ts";
import { secondsSince } from "../settings/time.ts";
import { type EvacuationCase, inheritedAttempts } from "./world.ts";

/** Far beyond any maximum: 0 s times infinity is no time at all. */
const MOST_DOUBLINGS = 32;

export function doubled(first: number, failures: number, most: number): number {
  return Math.min(first * 2 ** Math.min(Math.max(failures - 1, 0), MOST_DOUBLINGS), most);
}

export const KUBEVIRT_SECONDS = 20;
const MOST_KUBEVIRT_SECONDS = 320;

/** Whether a migration without a target pod is older than KubeVirt's own back-off explains. */
export function isOverdueInQueue(m: MigrationFacts, { e, w }: EvacuationCase): boolean {
  if (m.targetPod !== undefined || m.phase === "Scheduling") return false;
  const attempts = inheritedAttempts(e);
  const backoff = attempts === 0 ? 0 : doubled(KUBEVIRT_SECONDS, attempts, MOST_KUBEVIRT_SECONDS);
  return secondsSince(m.createdAt, w.now) >= w.settings.evacuation.stuckSeconds + backoff;
}

/** Whether KubeVirt could start one more migration of a VM of this node. It counts those that have a target pod. */
export function hasPlace({ vmi, w }: EvacuationCase): boolean {
  const running = migratingVmis(w.facts);
  const leaving = running.filter(({ nodeName }) => nodeName === vmi.nodeName);
  const { parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode } = w.settings.limits;
  return running.length < parallelMigrationsPerCluster && leaving.length < parallelOutboundMigrationsPerNode;
}
