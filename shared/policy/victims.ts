/**
 * The other victims of a preemption: whose deletion has to do with this one.
 * Owns: telling them from pods that only look like it. Does not own: what they share (deletion.ts, hold.ts).
 */
import { isPreempted } from "./disruption-cause.ts";
import type { PodFacts, VmiFacts } from "./facts.ts";
import { isListedBy } from "./pod-kind.ts";

/**
 * Preempted pods on the node, of VMIs under evacuation, as the first victim's is. The label of a launcher alone does not
 * count: anybody can give it to a pod, and have that preempted.
 */
export function victimsAround(f: {
  readonly neighbours: readonly PodFacts[];
  readonly evacuating: readonly VmiFacts[];
}): readonly PodFacts[] {
  return f.neighbours.filter((pod) => isPreempted(pod) && f.evacuating.some((vmi) => isListedBy(vmi, pod)));
}
