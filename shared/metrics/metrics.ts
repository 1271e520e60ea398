/**
 * The metrics of a cluster, from plain values.
 * Owns: which samples the values become. Does not own: the families (families.ts), where the values come from (the door).
 */
import { CAUSES } from "../policy/cause.ts";
import type { Counters, EvacuationCount } from "../policy/counters.ts";
import type { RequestCount } from "../descheduling/cycle/register.ts";
import type { EvacuationFacts } from "../policy/facts.ts";
import { FAMILIES } from "./families.ts";
import { type Family, renderOpenMetrics, type Sample } from "./open-metrics.ts";

export interface ClusterMetrics {
  readonly version: string;
  readonly counters: Counters;
  /** Those that have not ended. */
  readonly evacuations: readonly EvacuationFacts[];
  /** What descheduling has requested: one entry for each combination of plugin, profile and result. Absent: it is off. */
  readonly requests?: readonly RequestCount[];
}

export function renderMetrics({ version, counters, evacuations, requests }: ClusterMetrics): string {
  return renderOpenMetrics([
    [FAMILIES.build, [{ labels: [version], value: 1 }]],
    [FAMILIES.evacuations, counters.evacuations.map(countSample)],
    [FAMILIES.evacuationsInProgress, inProgressSamples(evacuations)],
    [FAMILIES.missedTicks, [{ labels: [], value: counters.missedTicks }]],
    ...(requests === undefined ? [] : deschedulingMetrics(requests, evacuations)),
  ]);
}

function countSample({ cause, outcome, count }: EvacuationCount): Sample {
  return { labels: [cause, outcome], value: count };
}

function inProgressSamples(evacuations: readonly EvacuationFacts[]): readonly Sample[] {
  const byCause = Map.groupBy(evacuations, ({ spec }) => spec.cause);
  return CAUSES.map((cause) => ({ labels: [cause], value: byCause.get(cause)?.length ?? 0 }));
}

function isSeenMarked({ status }: EvacuationFacts): boolean {
  return status.conditions.some((condition) => condition.type === "Marked" && condition.status === "True");
}

function deschedulingMetrics(
  requests: readonly RequestCount[],
  evacuations: readonly EvacuationFacts[],
): readonly (readonly [Family, readonly Sample[]])[] {
  const samples = requests.map(({ plugin, profile, result, count }) => {
    return { labels: [plugin, profile, result.toLowerCase()], value: count };
  });
  return [
    [FAMILIES.podEvacuations, samples],
    [FAMILIES.podEvacuationsInProgress, [{ labels: [], value: evacuations.filter(isSeenMarked).length }]],
  ];
}
