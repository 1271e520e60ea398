/** LowNodeUtilization: pods leave over-utilised nodes as long as under-utilised nodes have room. */
import * as z from "zod/mini";
import { isCompleted, type Taint } from "../../kube/facts.ts";
import { ownValue } from "../../kube/own-value.ts";
import type { QosClass, ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";
import { untolerated } from "../../kube/taints.ts";
import { prefersNoEviction } from "./default-evictor.ts";
import { Count, flag, listOf, mapping, text } from "./fields.ts";
import { by, byNodeName, inLevels, type Order, podOrder } from "./nominate.ts";
import type { ArgumentsOf, Nomination, Plugin, PluginWorld, Verdict } from "./plugin.ts";
import {
  countedResources,
  type NodeUsage,
  requestOf,
  usageOf,
  type Utilization,
  utilizationOf,
  weightOf,
} from "./utilization.ts";

const PERCENT = "expected a percentage, from 0 to 100";
const Thresholds = z.lazy(() =>
  z
    .record(
      text("expected the name of a resource"),
      z.number(PERCENT).check(z.minimum(0, PERCENT), z.maximum(100, PERCENT)),
      "expected percentages by resource",
    )
    .check(z.refine((thresholds) => Object.keys(thresholds).length > 0, "expected at least one resource")),
);

const sameKeys = (a: object, b: object) =>
  Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((key) => Object.hasOwn(b, key));

const Arguments = z.lazy(() =>
  mapping({
    useDeviationThresholds: flag(false),
    thresholds: Thresholds,
    targetThresholds: Thresholds,
    numberOfNodes: z._default(Count, 0),
    evictableNamespaces: z.exactOptional(
      mapping({
        exclude: listOf(text("expected the name of a namespace")),
      }),
    ),
    evictionLimits: z.exactOptional(mapping({ node: z.exactOptional(Count) })),
  }).check(
    z.refine(({ thresholds, targetThresholds }) => sameKeys(thresholds, targetThresholds), {
      path: ["targetThresholds"],
      error: "expected the same resources as in thresholds",
    }),
    z.superRefine(({ thresholds, targetThresholds, useDeviationThresholds }, context) => {
      if (useDeviationThresholds) return;
      for (const [resource, low] of Object.entries(thresholds)) {
        const target = targetThresholds[resource];
        if (target === undefined || low <= target) continue;
        context.addIssue({
          code: "custom",
          path: ["thresholds", resource],
          message: "expected no more than in targetThresholds",
        });
      }
    }),
  ),
);
export type Arguments = ArgumentsOf<typeof Arguments>;

export const lowNodeUtilization: Plugin<Arguments> = {
  name: "LowNodeUtilization",
  extensionPoint: "balance",
  arguments: Arguments,
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
  readonly args: Arguments;
  readonly world: PluginWorld;
  readonly high: Utilization["high"];
  /** What under-utilised nodes can still take in together. */
  readonly pool: Map<string, number>;
  readonly mayGo: (pod: ScheduledPod) => boolean;
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
function targetOf({ allocatable }: ScheduledNode, resource: string, high: Run["high"]): number {
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

function subtract(pod: ScheduledPod, amounts: Map<string, number>): void {
  for (const [resource, amount] of amounts) amounts.set(resource, amount - requestOf(pod, resource));
}

function isAboveTarget(node: ScheduledNode, usage: ReadonlyMap<string, number>, high: Run["high"]): boolean {
  return [...usage].some(([resource, amount]) => amount > targetOf(node, resource, high));
}

function removableFrom(node: ScheduledNode, { world }: Run): readonly ScheduledPod[] {
  const pods = world.podsOn(node.name).filter((pod) => !isCompleted(pod) && world.evictor.filter(pod));
  return pods.toSorted(podOrder(world, ...CHEAPEST_FIRST));
}

const QOS_ORDER: Readonly<Record<QosClass, number>> = { BestEffort: 0, Burstable: 1, Guaranteed: 2 };

const CHEAPEST_FIRST: readonly Order<ScheduledPod>[] = [
  by(({ priority }) => priority ?? -Infinity),
  by(({ qosClass }) => QOS_ORDER[qosClass]),
  by((pod) => (prefersNoEviction(pod) ? 1 : 0)),
];

/** Whether the pod tolerates some node with room, is not in an excluded namespace, and may be evicted. */
function mayGoTo(under: readonly NodeUsage[], args: Arguments, world: PluginWorld): Run["mayGo"] {
  const exclude = args.evictableNamespaces?.exclude ?? [];
  // Many nodes, few sets of taints.
  const taints = [...new Map(under.map(({ node }) => [JSON.stringify(node.taints), node.taints])).values()];
  const isTolerant = (pod: ScheduledPod) => taints.some((ofNode) => toleratesAll(ofNode, pod));
  return (pod) => !exclude.includes(pod.namespace) && isTolerant(pod) && world.evictor.preEvictionFilter(pod);
}

/**
 * All effects count. Upstream does not even look at a pod with fewer tolerations than there are taints, although one
 * toleration may cover several.
 */
function toleratesAll(taints: readonly Taint[], { tolerations = [] }: ScheduledPod): boolean {
  return tolerations.length >= taints.length && untolerated(taints, tolerations) === undefined;
}
