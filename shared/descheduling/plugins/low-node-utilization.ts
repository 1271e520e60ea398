/** LowNodeUtilization: pods leave over-utilised nodes as long as under-utilised nodes have room. */
import { isCompleted, type Taint } from "../../policy/facts.ts";
import { ownValue } from "../../policy/kube/own-value.ts";
import { untolerated } from "../../policy/kube/taints.ts";
import type { LowNodeUtilizationArguments } from "./arguments.ts";
import { prefersNoEviction } from "./default-evictor.ts";
import type { DeschedulerNode, DeschedulerPod, QosClass } from "./facts.ts";
import { countedResources, type NodeUsage, requestOf, usageOf, weightOf } from "./node-usage.ts";
import type { Nomination, Plugin, PluginWorld, Verdict } from "./plugin.ts";
import { by, byNodeName, inLevels, type Order, podOrder } from "./sort.ts";
import { type Utilization, utilizationOf } from "./utilization.ts";

export const lowNodeUtilization: Plugin<LowNodeUtilizationArguments> = {
  name: "LowNodeUtilization",
  extensionPoint: "balance",
  *nominate(args, world) {
    const resources = countedResources(args.thresholds);
    const nodes = world.nodes.toSorted(byNodeName).map((node) => usageOf(node, world.podsOn(node.name), resources));
    const { under, over, high } = utilizationOf(nodes, args);
    // No room, or room on too few nodes.
    if (under.length <= args.numberOfNodes) return;
    const run = { args, world, high, pool: poolOf(under, high, resources), mayGo: mayGoTo(under, args, world) };
    for (const source of over.toSorted(fullestFirst)) {
      if ((yield* relieve(source, run)) === "TotalLimit") return;
    }
  },
};

interface Run {
  readonly args: LowNodeUtilizationArguments;
  readonly world: PluginWorld;
  readonly high: Utilization["high"];
  /** What under-utilised nodes can still take in together. */
  readonly pool: Map<string, number>;
  readonly mayGo: (pod: DeschedulerPod) => boolean;
}

const fullestFirst: Order<NodeUsage> = inLevels(
  by((usage) => -weightOf(usage)),
  by(({ node }) => node.name),
);

function poolOf(under: readonly NodeUsage[], high: Run["high"], resources: readonly string[]): Map<string, number> {
  const room = (resource: string) =>
    under.reduce((sum, { node, usage }) => sum + targetOf(node, resource, high) - (usage.get(resource) ?? 0), 0);
  return new Map(resources.map((resource) => [resource, room(resource)]));
}

/** Up to where a node is to be filled: whole units below the threshold, or all of it where there is none. */
function targetOf({ allocatable }: DeschedulerNode, resource: string, high: Run["high"]): number {
  const capacity = ownValue(allocatable, resource) ?? 0;
  const percent = high.get(resource);
  return percent === undefined ? capacity : Math.trunc(percent * 0.01 * capacity);
}

/** One node's pods, until it is no longer over-utilised or there is no room left for them. */
function* relieve(source: NodeUsage, run: Run): Generator<Nomination, Verdict | undefined, Verdict> {
  const usage = new Map(source.usage);
  let limit = run.args.evictionLimits?.node ?? Infinity;
  const isEnough = () => limit <= 0 || isExhausted(run.pool) || !isAboveTarget(source.node, usage, run.high);
  for (const pod of isEnough() ? [] : removableFrom(source.node, run)) {
    if (!run.mayGo(pod)) continue;
    const verdict = yield { pod, reason: `node ${source.node.name} is over-utilised` };
    if (verdict === "Skipped") continue;
    if (verdict !== "Accepted") return verdict;
    limit -= 1;
    subtract(pod, usage);
    subtract(pod, run.pool);
    if (isEnough()) return undefined;
  }
  return undefined;
}

function isExhausted(pool: Run["pool"]): boolean {
  return [...pool.values()].some((left) => left <= 0);
}

function subtract(pod: DeschedulerPod, amounts: Map<string, number>): void {
  for (const [resource, amount] of amounts) amounts.set(resource, amount - requestOf(pod, resource));
}

function isAboveTarget(node: DeschedulerNode, usage: ReadonlyMap<string, number>, high: Run["high"]): boolean {
  return [...usage].some(([resource, amount]) => amount > targetOf(node, resource, high));
}

function removableFrom(node: DeschedulerNode, { args, world }: Run): readonly DeschedulerPod[] {
  const pods = world.podsOn(node.name).filter((pod) => !isCompleted(pod) && world.evictor.filter(pod));
  return pods.toSorted(podOrder(args, world, ...CHEAPEST_FIRST));
}

const QOS_ORDER: Readonly<Record<QosClass, number>> = { BestEffort: 0, Burstable: 1, Guaranteed: 2 };

const CHEAPEST_FIRST: readonly Order<DeschedulerPod>[] = [
  by(({ priority }) => priority ?? -Infinity),
  by(({ qosClass }) => QOS_ORDER[qosClass]),
  by((pod) => (prefersNoEviction(pod) ? 1 : 0)),
];

/** Whether the pod tolerates some node with room, is not in an excluded namespace, and may be evicted. */
function mayGoTo(under: readonly NodeUsage[], args: LowNodeUtilizationArguments, world: PluginWorld): Run["mayGo"] {
  const exclude = args.evictableNamespaces?.exclude ?? [];
  // Many nodes, few sets of taints.
  const taints = [...new Map(under.map(({ node }) => [JSON.stringify(node.taints), node.taints])).values()];
  const isTolerant = (pod: DeschedulerPod) => taints.some((ofNode) => toleratesAll(ofNode, pod));
  return (pod) => !exclude.includes(pod.namespace) && isTolerant(pod) && world.evictor.preEvictionFilter(pod);
}

/**
 * All effects count. Upstream does not even look at a pod with fewer tolerations than there are taints, although one
 * toleration may cover several.
 */
function toleratesAll(taints: readonly Taint[], { tolerations = [] }: DeschedulerPod): boolean {
  return tolerations.length >= taints.length && untolerated(taints, tolerations) === undefined;
}
