/**
 * KubeVirt's drain taint: VMs that can migrate leave a node that carries it.
 * Owns: which taint that is. Does not own: what follows from it.
 * Upstream: KubeVirt's evacuation controller; only the effect NoSchedule counts.
 */
import type { NodeFacts } from "../facts.ts";
import type { Settings } from "../settings.ts";

export function carriesDrainTaint({ taints }: Pick<NodeFacts, "taints">, { drainTaintKey }: Settings): boolean {
  return taints.some((taint) => taint.key === drainTaintKey && taint.effect === "NoSchedule");
}
