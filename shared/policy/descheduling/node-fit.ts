/**
 * Whether a pod could run on another node: the descheduler's part of what the scheduler asks.
 * Owns: that. Does not own: which pods are asked about.
 * Upstream: `NodeFit`, `PodFitsAnyNode`, `PodFitsAnyOtherNode` of the descheduler (pkg/descheduler/node).
 */
import { isCompleted } from "../facts.ts";
import { ownValue } from "../own-value.ts";
import { matches } from "../selector.ts";
import { untolerated } from "../tolerations.ts";
import type { AntiAffinityTerm, DeschedulerNode, DeschedulerPod, Placement } from "./facts.ts";
import { isWanted } from "./node-selector.ts";
import type { PluginWorld } from "./plugin.ts";

export interface NodeFit {
  /** One of the nodes would do, be it the pod's own. */
  readonly fitsAny: (pod: DeschedulerPod) => boolean;
  readonly fitsAnyOther: (pod: DeschedulerPod) => boolean;
}

/** What is found out about a node, or about what pods ask for, is found out once. */
export function nodeFit(nodes: readonly DeschedulerNode[], world: Pick<PluginWorld, "podsOn">): NodeFit {
  const room = once((node: DeschedulerNode) => roomOn(node, world.podsOn(node.name)));
  const isAnywhere = once((placement: Placement) => nodes.some((node) => isWanted(placement, node)));
  const fits = (pod: DeschedulerPod, node: DeschedulerNode) =>
    !node.unschedulable &&
    isWanted(pod.placement, node) &&
    untolerated(node.taints.filter(repels), pod.tolerations) === undefined &&
    (pod.nodeName === node.name || hasRoom(room(node), pod)) &&
    !isRepelled(pod, node, world.podsOn(node.name));

  // Where one pod fits, the next probably does.
  let latest: DeschedulerNode | undefined;
  const find = (pod: DeschedulerPod, isAllowed: (node: DeschedulerNode) => boolean) => {
    if (latest !== undefined && isAllowed(latest) && fits(pod, latest)) return true;
    const found = isAnywhere(pod.placement) ? nodes.find((node) => isAllowed(node) && fits(pod, node)) : undefined;
    latest = found ?? latest;
    return found !== undefined;
  };
  return {
    fitsAny: (pod) => find(pod, () => true),
    fitsAnyOther: (pod) => find(pod, (node) => node.name !== pod.nodeName),
  };
}

function once<K, V>(compute: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    const value = known.get(key) ?? compute(key);
    known.set(key, value);
    return value;
  };
}

function repels({ effect }: { readonly effect: string }): boolean {
  return effect === "NoSchedule" || effect === "NoExecute";
}

type Room = ReadonlyMap<string, number>;

/** What the node's pods leave of each resource. */
function roomOn(node: DeschedulerNode, pods: readonly DeschedulerPod[]): Room {
  const room = new Map(Object.entries(node.allocatable));
  const take = (name: string, amount: number) => {
    const left = room.get(name);
    if (left !== undefined) room.set(name, left - amount);
  };
  for (const pod of pods) {
    if (isCompleted(pod)) continue;
    take("pods", 1);
    for (const [name, amount] of Object.entries(pod.requests)) take(name, amount);
  }
  return room;
}

/** A resource that the node does not have is one of which there is nothing. */
function hasRoom(room: Room, pod: DeschedulerPod): boolean {
  const enough = Object.entries(pod.requests).every(([name, amount]) => amount <= (room.get(name) ?? 0));
  return enough && (room.get("pods") ?? 0) > 0;
}

/** A pod that it must not be near is on that node. Those on other nodes of the same domain are not looked for. */
function isRepelled(pod: DeschedulerPod, node: DeschedulerNode, others: readonly DeschedulerPod[]): boolean {
  const terms = pod.antiAffinity.filter(({ topologyKey }) => ownValue(node.labels, topologyKey) !== undefined);
  if (terms.length === 0) return false;
  const isUnwanted = (other: DeschedulerPod) => terms.some((term) => selects(term, pod, other));
  return others.some((other) => other.uid !== pod.uid && !isCompleted(other) && isUnwanted(other));
}

function selects({ namespaces, selector }: AntiAffinityTerm, pod: DeschedulerPod, other: DeschedulerPod): boolean {
  const there = namespaces.length === 0 ? other.namespace === pod.namespace : namespaces.includes(other.namespace);
  return there && matches(selector, other.labels);
}
