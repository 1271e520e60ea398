/**
 * Which nodes are under-utilised and which over-utilised. Upstream: nodeutilization of the descheduler; percentages are floating point
 * there too, and the order of operations counts.
 */
import { ownValue } from "../../policy/kube/own-value.ts";
import type { LowNodeUtilizationArguments } from "./arguments.ts";
import { type NodeUsage, percentOf } from "./node-usage.ts";

type Thresholds = ReadonlyMap<string, number>;

export interface Utilization {
  /** Percent by resource: up to here nodes are to be filled. */
  readonly high: Thresholds;
  /** Not cordoned, and of no resource more than its low threshold. */
  readonly under: readonly NodeUsage[];
  /** Of some resource more than its high threshold. */
  readonly over: readonly NodeUsage[];
}

type ThresholdArguments = Pick<
  LowNodeUtilizationArguments,
  "useDeviationThresholds" | "thresholds" | "targetThresholds"
>;

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
