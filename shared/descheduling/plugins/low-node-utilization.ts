/** LowNodeUtilization evicts pods from over-utilised nodes while under-utilised nodes have free resources. */
import * as z from "zod/mini";
import type { Taint } from "../../kube/facts.ts";
import { isFinal, ownValue, untolerated } from "../../kube/objects.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";
import { prefersNoEviction } from "./default-evictor.ts";
import { CountArgument, listArgument, mapping, text } from "./fields.ts";
import type { ArgumentsOf, Nomination, Plugin, PluginWorld, Verdict } from "./plugin.ts";
import { by, byNodeName, inLevels, type Order, podOrder, sorting, SORTERS } from "./sort.ts";
import { PLUGIN_MESSAGES as MESSAGES } from "./messages.ts";

const PERCENT = MESSAGES.percent;
const Thresholds = z.lazy(() =>
  z
    .record(
      text(MESSAGES.resource),
      z.number(PERCENT).check(z.minimum(0, PERCENT), z.maximum(100, PERCENT)),
      MESSAGES.percentages,
    )
    .check(z.refine((thresholds) => Object.keys(thresholds).length > 0, MESSAGES.atLeastOneResource)),
);
type Thresholds = Readonly<Record<string, number>>;

function isBelow(thresholds: Thresholds, targets: Thresholds): boolean {
  const [low, high] = [Object.entries(thresholds), Object.keys(targets)];
  return low.length === high.length && low.every(([name, percent]) => percent <= (ownValue(targets, name) ?? -1));
}

const Arguments = z.lazy(() =>
  mapping({
    thresholds: Thresholds,
    targetThresholds: Thresholds,
    evictableNamespaces: z.exactOptional(mapping({ exclude: listArgument(text(MESSAGES.namespace)) })),
    evictionLimits: z.exactOptional(mapping({ node: z.exactOptional(CountArgument) })),
    ...sorting,
  }).check(
    z.refine(({ thresholds, targetThresholds }) => isBelow(thresholds, targetThresholds), {
      path: ["targetThresholds"],
      error: MESSAGES.targetsBelow,
    }),
  ),
);
export type Arguments = ArgumentsOf<typeof Arguments>;

export const lowNodeUtilization: Plugin<Arguments> = {
  name: "LowNodeUtilization",
  extensionPoint: "balance",
  arguments: Arguments,
  *nominate(args, world) {
    const resources = countedResources(args);
    const nodes = world.nodes.toSorted(byNodeName).map((node) => usageOf(node, world.podsOn(node.name), resources));
    const under = nodes.filter((usage) => !usage.node.unschedulable && !exceeds(usage, args.thresholds));
    const over = nodes.filter((usage) => exceeds(usage, args.targetThresholds));
    if (under.length === 0) return;
    const run = { args, world, room: roomOn(under, args, resources), mayGo: mayGoTo(under, args, world) };
    for (const source of over.toSorted(fullestFirst)) {
      if ((yield* relieve(source, run)) === "TotalLimit") return;
    }
  },
};

/** The requests of a node's pods, summed up per resource, and the number of pods. */
interface NodeUsage {
  readonly node: ScheduledNode;
  readonly usage: ReadonlyMap<string, number>;
}

/**
 * Returns the resources with a threshold, and always CPU, memory and pods, because the under-utilised nodes must not
 * run out of these three.
 */
function countedResources({ thresholds }: Arguments): readonly string[] {
  return [...new Set([...Object.keys(thresholds), "cpu", "memory", "pods"])].toSorted();
}

function usageOf(node: ScheduledNode, pods: readonly ScheduledPod[], resources: readonly string[]): NodeUsage {
  const running = pods.filter((pod) => !isFinal(pod));
  const sum = (resource: string) => running.reduce((total, pod) => total + requestOf(pod, resource), 0);
  return { node, usage: new Map(resources.map((resource) => [resource, sum(resource)])) };
}

function requestOf(pod: ScheduledPod, resource: string): number {
  return resource === "pods" ? 1 : (ownValue(pod.requests, resource) ?? 0);
}

function exceeds({ node, usage }: NodeUsage, thresholds: Thresholds): boolean {
  return Object.entries(thresholds).some(([resource, percent]) => {
    const capacity = ownValue(node.allocatable, resource) ?? 0;
    return capacity > 0 && ((usage.get(resource) ?? 0) / capacity) * 100 > percent;
  });
}

interface Run {
  readonly args: Arguments;
  readonly world: PluginWorld;
  /** The free resources of all under-utilised nodes together, keyed by resource. */
  readonly room: Map<string, number>;
  readonly mayGo: (pod: ScheduledPod) => boolean;
}

/**
 * Sorts nodes by the sum of their requests, in descending order. The sum consists mostly of memory, because memory is
 * in bytes.
 */
const fullestFirst: Order<NodeUsage> = inLevels(
  by(({ usage }) => -[...usage.values()].reduce((sum, amount) => sum + amount, 0)),
  by(({ node }) => node.name),
);

function roomOn(under: readonly NodeUsage[], args: Arguments, resources: readonly string[]): Map<string, number> {
  const room = (resource: string) =>
    under.reduce((sum, { node, usage }) => sum + targetOf(node, resource, args) - (usage.get(resource) ?? 0), 0);
  return new Map(resources.map((resource) => [resource, room(resource)]));
}

/**
 * Returns how much of a resource may be used on a node. The threshold is rounded down. Without a threshold, returns the
 * node's allocatable amount.
 */
function targetOf({ allocatable }: ScheduledNode, resource: string, { targetThresholds }: Arguments): number {
  const capacity = ownValue(allocatable, resource) ?? 0;
  const percent = ownValue(targetThresholds, resource);
  return percent === undefined ? capacity : Math.trunc(percent * 0.01 * capacity);
}

/** Nominates pods of a node until the node is no longer over-utilised, or the other nodes have no free resources. */
function* relieve(source: NodeUsage, run: Run): Generator<Nomination, Verdict | undefined, Verdict> {
  const usage = new Map(source.usage);
  let limit = run.args.evictionLimits?.node ?? Infinity;
  const isExhausted = () => [...run.room.values()].some((left) => left <= 0);
  const isAboveTarget = () => [...usage].some(([name, amount]) => amount > targetOf(source.node, name, run.args));
  const isEnough = () => limit <= 0 || isExhausted() || !isAboveTarget();
  for (const pod of isEnough() ? [] : removableFrom(source.node, run)) {
    if (!run.mayGo(pod)) continue;
    const verdict = yield { pod, reason: MESSAGES.overUtilised(source.node.name) };
    if (verdict === "Skipped") continue;
    if (verdict !== "Accepted") return verdict;
    limit -= 1;
    subtract(pod, usage);
    subtract(pod, run.room);
    if (isEnough()) return undefined;
  }
  return undefined;
}

function subtract(pod: ScheduledPod, amounts: Map<string, number>): void {
  for (const [resource, amount] of amounts) amounts.set(resource, amount - requestOf(pod, resource));
}

function removableFrom(node: ScheduledNode, { args, world }: Run): readonly ScheduledPod[] {
  const pods = world.podsOn(node.name).filter((pod) => !isFinal(pod) && world.evictor.filter(pod));
  return pods.toSorted(podOrder(args, world, ...CHEAPEST_FIRST));
}

const CHEAPEST_FIRST: readonly Order<ScheduledPod>[] = [
  SORTERS.LowestPriority,
  SORTERS.LowestQoS,
  by((pod) => (prefersNoEviction(pod) ? 1 : 0)),
];

/**
 * Returns a filter for pods. A pod passes if it may be evicted, its namespace is not excluded, and it tolerates the
 * taints of an under-utilised node.
 */
function mayGoTo(under: readonly NodeUsage[], args: Arguments, world: PluginWorld): Run["mayGo"] {
  const exclude = args.evictableNamespaces?.exclude ?? [];
  const taints = [...new Map(under.map(({ node }) => [JSON.stringify(node.taints), node.taints])).values()];
  const isTolerant = (pod: ScheduledPod) => taints.some((ofNode) => toleratesAll(ofNode, pod));
  return (pod) => !exclude.includes(pod.namespace) && isTolerant(pod) && world.evictor.preEvictionFilter(pod);
}

/**
 * Returns whether the pod tolerates all taints. Like upstream, returns false for a pod with fewer tolerations than
 * taints.
 */
function toleratesAll(taints: readonly Taint[], { tolerations = [] }: ScheduledPod): boolean {
  return tolerations.length >= taints.length && untolerated(taints, tolerations) === undefined;
}
