/** Which nodes are under- or over-utilised, by what their pods ask for. Floating point, in the order of upstream's nodeutilization. */
import { isCompleted } from "../../kube/facts.ts";
import { ownValue } from "../../kube/own-value.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";

/** Percent by resource name, 0 to 100. */
type ResourceThresholds = Readonly<Record<string, number>>;

export interface NodeUsage {
  readonly node: ScheduledNode;
  /** Of every resource counted, the sum of requests; of `pods`, their number. */
  readonly usage: ReadonlyMap<string, number>;
}

/** Those that have a threshold; CPU, memory and pods are counted in any case, as room for them must not run out. */
export function countedResources(thresholds: ResourceThresholds): readonly string[] {
  return [...new Set([...Object.keys(thresholds), "cpu", "memory", "pods"])].toSorted();
}

/** Pods that have ended ask for nothing any more. */
export function usageOf(node: ScheduledNode, pods: readonly ScheduledPod[], resources: readonly string[]): NodeUsage {
  const usage = new Map(resources.map((resource) => [resource, 0]));
  for (const pod of pods) {
    if (isCompleted(pod)) continue;
    for (const resource of resources) usage.set(resource, (usage.get(resource) ?? 0) + requestOf(pod, resource));
  }
  return { node, usage };
}

export function requestOf(pod: ScheduledPod, resource: string): number {
  return resource === "pods" ? 1 : (ownValue(pod.requests, resource) ?? 0);
}

/** Undefined: the node knows nothing of that resource. */
function percentOf({ node, usage }: NodeUsage, resource: string): number | undefined {
  const capacity = ownValue(node.allocatable, resource);
  if (capacity === undefined) return undefined;
  return capacity > 0 ? ((usage.get(resource) ?? 0) / capacity) * 100 : 0;
}

/** What the pods of a node ask for in all, in one number: memory decides unless there is none. */
export function weightOf({ usage }: NodeUsage): number {
  return [...usage.values()].reduce((sum, amount) => sum + amount, 0);
}

type Thresholds = ReadonlyMap<string, number>;

export interface Utilization {
  /** Percent by resource: up to here nodes are to be filled. */
  readonly high: Thresholds;
  /** Not cordoned, and of no resource more than its low threshold. */
  readonly under: readonly NodeUsage[];
  /** Of some resource more than its high threshold. */
  readonly over: readonly NodeUsage[];
}

interface ThresholdArguments {
  readonly useDeviationThresholds: boolean;
  readonly thresholds: ResourceThresholds;
  readonly targetThresholds: ResourceThresholds;
}

export function utilizationOf(nodes: readonly NodeUsage[], args: ThresholdArguments): Utilization {
  const { low, high } = args.useDeviationThresholds ? aroundAverage(nodes, args) : asGiven(args);
  const classes = Map.groupBy(nodes, (usage): "under" | "over" | "between" => {
    // An under-utilised node is never over-utilised, even where the thresholds overlap.
    if (!usage.node.unschedulable && !exceeds(usage, low)) return "under";
    return exceeds(usage, high) ? "over" : "between";
  });
  return { high, under: classes.get("under") ?? [], over: classes.get("over") ?? [] };
}

function exceeds(usage: NodeUsage, thresholds: Thresholds): boolean {
  return [...thresholds].some(([resource, percent]) => (percentOf(usage, resource) ?? 0) > percent);
}

function asGiven({ thresholds, targetThresholds }: ThresholdArguments): { low: Thresholds; high: Thresholds } {
  return { low: new Map(Object.entries(thresholds)), high: new Map(Object.entries(targetThresholds)) };
}

/** The average is over all nodes that have the resource, cordoned ones included. */
function aroundAverage(nodes: readonly NodeUsage[], { thresholds, targetThresholds }: ThresholdArguments) {
  const averages = Object.keys(thresholds).flatMap((resource) => {
    const percents = nodes.flatMap((usage) => percentOf(usage, resource) ?? []);
    const sum = percents.reduce((total, percent) => total + percent, 0);
    return percents.length === 0 ? [] : [[resource, sum / percents.length] as const];
  });
  return {
    low: new Map(averages.map(([name, average]) => [name, clamp(average - (ownValue(thresholds, name) ?? 0))])),
    high: new Map(averages.map(([name, average]) => [name, clamp(average + (ownValue(targetThresholds, name) ?? 0))])),
  };
}

function clamp(percent: number): number {
  return Math.min(Math.max(percent, 0), 100);
}
