/**
 * Whether a pod could run on another node, as the scheduler would see it. Of pods nearby only those on the node itself are looked at.
 *
 * Upstream: `NodeFit`, `PodFitsAnyNode`, `PodFitsAnyOtherNode` of the descheduler (pkg/descheduler/node).
 */
import { obstacleTo, repelling, roomOn, type Spot } from "../../preflight/fit.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";
import { oncePer } from "./nominate.ts";
import type { PluginWorld } from "./plugin.ts";
import { isFinal } from "../../kube/objects.ts";

export interface NodeFit {
  /** One of the nodes would do, be it the pod's own. */
  readonly fitsAny: (pod: ScheduledPod) => boolean;
  readonly fitsAnyOther: (pod: ScheduledPod) => boolean;
}

export function nodeFit(nodes: readonly ScheduledNode[], world: Pick<PluginWorld, "podsOn">): NodeFit {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const spotOf = oncePer(
    (node: ScheduledNode) => node.name,
    (node): Spot => ({ node, room: roomOn(node, world.podsOn(node.name)) }),
  );
  // Many pods ask for the same, and where there is nothing for one there is nothing for the next.
  const firstTaker = oncePer(
    ({ placement, tolerations, requests }: ScheduledPod) => JSON.stringify([placement, tolerations, requests]),
    (pod) => nodes.find((node) => obstacleTo(pod, spotOf(node)) === undefined),
  );
  const fits = (pod: ScheduledPod, spot: Spot) => {
    if (obstacleTo(pod, spot) !== undefined) return false;
    const others = world.podsOn(spot.node.name).filter((other) => other.uid !== pod.uid && !isFinal(other));
    return !repelling(pod, others, [spot.node])(spot.node);
  };
  const fitsAnyOther = (pod: ScheduledPod) => {
    const first = firstTaker(pod);
    const fitsOther = (node: ScheduledNode) => node.name !== pod.nodeName && fits(pod, spotOf(node));
    return first !== undefined && (fitsOther(first) || nodes.some(fitsOther));
  };
  // On its own node it takes up room already.
  const fitsItsOwn = (pod: ScheduledPod) => {
    const own = byName.get(pod.nodeName);
    return own !== undefined && fits(pod, { node: own });
  };
  return { fitsAny: (pod) => fitsItsOwn(pod) || fitsAnyOther(pod), fitsAnyOther };
}
