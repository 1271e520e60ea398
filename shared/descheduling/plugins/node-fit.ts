/** Whether a pod could run on another node. Upstream: `PodFitsAnyNode`, `PodFitsAnyOtherNode` of the descheduler. */
import { isCompleted } from "../../policy/facts.ts";
import { ownValue } from "../../policy/kube/own-value.ts";
import { type Room, roomOn } from "../../policy/kube/room.ts";
import { matches } from "../../policy/kube/selector.ts";
import { untolerated } from "../../policy/kube/taints.ts";
import type { AntiAffinityTerm, ScheduledNode, ScheduledPod } from "../../policy/kube/scheduled-pod.ts";
import { isWanted } from "../../policy/kube/node-selector.ts";
import { oncePer } from "./nominate.ts";
import type { PluginWorld } from "./plugin.ts";

export interface NodeFit {
  /** One of the nodes would do, be it the pod's own. */
  readonly fitsAny: (pod: ScheduledPod) => boolean;
  readonly fitsAnyOther: (pod: ScheduledPod) => boolean;
}

export function nodeFit(nodes: readonly ScheduledNode[], world: Pick<PluginWorld, "podsOn">): NodeFit {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const roomOf = oncePer(
    (node: ScheduledNode) => node.name,
    (node) => roomOn(node, world.podsOn(node.name)),
  );
  const takes = (node: ScheduledNode, pod: ScheduledPod) => suits(node, pod) && hasRoom(roomOf(node), pod);
  // Many pods ask for the same, and where there is nothing for one there is nothing for the next.
  const firstTaker = oncePer(
    ({ placement, tolerations, requests }: ScheduledPod) => JSON.stringify([placement, tolerations, requests]),
    (pod) => nodes.find((node) => takes(node, pod)),
  );
  const fitsAnyOther = (pod: ScheduledPod) => {
    const first = firstTaker(pod);
    const fits = (node: ScheduledNode) => node.name !== pod.nodeName && takes(node, pod) && !repels(node, pod, world);
    return first !== undefined && (fits(first) || nodes.some(fits));
  };
  // On its own node it takes up room already.
  const fitsItsOwn = (pod: ScheduledPod) => {
    const own = byName.get(pod.nodeName);
    return own !== undefined && suits(own, pod) && !repels(own, pod, world);
  };
  return { fitsAny: (pod) => fitsItsOwn(pod) || fitsAnyOther(pod), fitsAnyOther };
}

function suits(node: ScheduledNode, pod: ScheduledPod): boolean {
  const taints = node.taints.filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute");
  return !node.unschedulable && isWanted(pod.placement, node) && untolerated(taints, pod.tolerations) === undefined;
}

/** A resource that the node does not have is one of which there is nothing. */
function hasRoom(room: Room, pod: ScheduledPod): boolean {
  const enough = Object.entries(pod.requests).every(([name, amount]) => amount <= (room.get(name) ?? 0));
  return enough && (room.get("pods") ?? 0) > 0;
}

/** A pod that it must not be near is on that node. Those on other nodes of the same domain are not looked for. */
function repels(node: ScheduledNode, pod: ScheduledPod, world: Pick<PluginWorld, "podsOn">): boolean {
  const terms = pod.antiAffinity.filter(({ topologyKey }) => ownValue(node.labels, topologyKey) !== undefined);
  if (terms.length === 0) return false;
  const isUnwanted = (other: ScheduledPod) => terms.some((term) => selects(term, pod, other));
  return world.podsOn(node.name).some((other) => other.uid !== pod.uid && !isCompleted(other) && isUnwanted(other));
}

function selects({ namespaces, selector }: AntiAffinityTerm, pod: ScheduledPod, other: ScheduledPod): boolean {
  const there = namespaces.length === 0 ? other.namespace === pod.namespace : namespaces.includes(other.namespace);
  return there && matches(selector, other.labels);
}
