/**
 * Which NoExecute taint drives a pod off its node.
 * Owns: that rule. Does not own: holding what it deletes (deletion.ts), ending an evacuation when it is gone (standing.ts).
 * Upstream: kube-controller-manager's taint eviction controller.
 */
import type { NodeFacts, PodFacts, Taint, Toleration } from "../facts.ts";
import { DEAD_NODE_TAINTS } from "./node-alive.ts";
import { tolerates } from "./tolerations.ts";

/** The first one that the pod does not tolerate for good; a toleration for some seconds has run out when the pod is deleted. */
export function drivingTaint(node: NodeFacts | undefined, { tolerations = [] }: PodFacts): Taint | undefined {
  return node?.taints.find((taint) => isDriving(taint, tolerations));
}

/** Not one of a node that is down: the guard holds nothing there, and what such a taint is tolerated for has just begun to run. */
function isDriving(taint: Taint, tolerations: readonly Toleration[]): boolean {
  if (taint.effect !== "NoExecute" || DEAD_NODE_TAINTS.includes(taint.key)) return false;
  return !tolerations.some((one) => one.tolerationSeconds === undefined && tolerates(one, taint));
}
