/**
 * Decides whether a pod could run on another node, with the rules of the scheduler. Compares anti-affinity only with
 * the pods of the other node. Upstream: `NodeFit`, `PodFitsAnyNode`, `PodFitsAnyOtherNode` of the descheduler
 * (pkg/descheduler/node).
 */
import { obstacleTo, repelling, roomOn, type Spot } from "../../preflight/fit.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";
import type { NextPod } from "../../preflight/next-pod.ts";
import { oncePer } from "./nominate.ts";
import type { PluginWorld } from "./plugin.ts";
import { isFinal } from "../../kube/objects.ts";

export interface NodeFit {
  readonly fitsAny: (pod: ScheduledPod) => boolean;
  readonly fitsAnyOther: (pod: ScheduledPod) => boolean;
}

type Next = NextPod<ScheduledPod>;
type World = Pick<PluginWorld, "podsOn" | "nextPod">;

export function nodeFit(nodes: readonly ScheduledNode[], world: World): NodeFit {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const spotOf = oncePer(
    (node: ScheduledNode) => node.name,
    (node): Spot => ({ node, room: roomOn(node, world.podsOn(node.name)) }),
  );
  const firstTaker = oncePer(
    ({ pod: { placement, tolerations, requests }, cpu }: Next) =>
      JSON.stringify([placement, tolerations, requests, cpu]),
    (next) => nodes.find((node) => !isKeptFrom(next, spotOf(node))),
  );
  const fits = (next: Next, spot: Spot) => {
    if (isKeptFrom(next, spot)) return false;
    const others = world.podsOn(spot.node.name).filter((other) => other.uid !== next.pod.uid && !isFinal(other));
    return repelling(next.pod, others, new Map([[spot.node.name, spot.node.labels]]))?.(spot.node) !== true;
  };
  const fitsAnyOther = (pod: ScheduledPod) => {
    const next = world.nextPod(pod);
    const first = firstTaker(next);
    const fitsOther = (node: ScheduledNode) => node.name !== pod.nodeName && fits(next, spotOf(node));
    return first !== undefined && (fitsOther(first) || nodes.some(fitsOther));
  };
  // The pod already uses resources of its own node, so the free resources of this node are not checked.
  const fitsItsOwn = (pod: ScheduledPod) => {
    const own = byName.get(pod.nodeName);
    return own !== undefined && fits({ pod, cpu: {} }, { node: own });
  };
  return { fitsAny: (pod) => fitsItsOwn(pod) || fitsAnyOther(pod), fitsAnyOther };
}

function isKeptFrom({ pod, cpu, least }: Next, spot: Spot): boolean {
  return [pod, least?.pod ?? pod].every((one) => obstacleTo(one, spot, { cpu }) !== undefined);
}
