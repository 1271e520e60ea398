/**
 * The other victims of a preemption: whose deletion has to do with this one.
 * Owns: telling them from pods that only look like it. Does not own: what they share (deletion.ts, hold.ts).
 */
import { conditionedDisruption, type Moment } from "./disruption-cause.ts";
import { podUIDOf } from "../evacuation/identity.ts";
import type { EvacuationFacts, PodFacts } from "../facts.ts";

/**
 * Preempted pods on the node that an Evacuation is about, as the first victim's is. The label of a launcher alone does not
 * count: any tenant can give it to a pod, and have that preempted.
 */
export function victimsAround(
  f: Moment & { readonly neighbours: readonly PodFacts[]; readonly active: readonly EvacuationFacts[] },
): readonly PodFacts[] {
  const isEvacuated = ({ uid, namespace }: PodFacts) =>
    f.active.some((e) => e.namespace === namespace && podUIDOf(e) === uid);
  return f.neighbours.filter((pod) => conditionedDisruption(pod, f)?.cause === "Preemption" && isEvacuated(pod));
}
