/**
 * Telling the pod a guest runs in from the pod it may move to.
 * Owns: that. Does not own: what follows from it (eviction.ts, deletion.ts).
 */
import type { PodFacts, VmiFacts } from "../facts.ts";

/**
 * A pod on another node than its VMI, or one that KubeVirt does not count among the VMI's own: its end is not the
 * guest's end, so it is never marked for. The second half also keeps a pod that merely claims to belong to a VMI, which
 * a tenant can create, from moving that VMI.
 */
export function isMigrationTarget(pod: Pick<PodFacts, "uid" | "nodeName">, vmi: VmiFacts): boolean {
  if (vmi.nodeName === undefined) return false;
  const listed = Object.keys(vmi.activePods);
  return pod.nodeName !== vmi.nodeName || (listed.length > 0 && !listed.includes(pod.uid));
}
