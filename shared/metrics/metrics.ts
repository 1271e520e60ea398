/**
 * The metrics of a cluster, from plain values.
 * Owns: which samples the values become. Does not own: the families (families.ts), where the values come from (the door).
 */
import { type Cause, CAUSES } from "../policy/cause.ts";
import type { EvacuationCount } from "../policy/counters.ts";
import type { RequestCount } from "../policy/descheduling/register.ts";
import type { EvacuationFacts } from "../policy/facts.ts";
import { END_PHASES as OUTCOMES } from "../policy/phase.ts";
import { FAMILIES } from "./families.ts";
import { type Family, renderOpenMetrics, type Sample } from "./open-metrics.ts";

export interface DeschedulingMetrics {
  /** One entry for each combination of plugin, profile and result. */
  readonly counts: readonly RequestCount[];
  /** Pods that guests are leaving. */
  readonly inProgress: number;
}

export interface ClusterMetrics {
  readonly version: string;
  /** Where they are not to be seen there is no such family: a zero would be a lie. */
  readonly counters: readonly EvacuationCount[];
  /** Those that carry the evacuation label. */
  readonly vmis: readonly EvacuationFacts[];
  readonly descheduling?: DeschedulingMetrics;
}

export function renderMetrics({ version, counters, vmis, descheduling }: ClusterMetrics): string {
  const ended = counters;
  return renderOpenMetrics([
    [FAMILIES.build, [{ labels: [version], value: 1 }]],
    ...(ended === undefined ? [] : [[FAMILIES.evacuations, endedSamples(ended)] as const]),
    [FAMILIES.evacuationsInProgress, inProgressSamples(vmis)],
    ...(descheduling === undefined ? [] : deschedulingMetrics(descheduling)),
  ]);
}

/** All there can be, so that the first one of a kind is an increase. */
function endedSamples(counts: readonly EvacuationCount[]): readonly Sample[] {
  return CAUSES.flatMap((cause) =>
    OUTCOMES.map((outcome) => {
      const found = counts.filter((one) => one.cause === cause && one.outcome === outcome);
      return { labels: [cause, outcome], value: found.reduce((sum, { count }) => sum + count, 0) };
    }),
  );
}

/** What has ended and is only being tidied up is not in progress: it is among those that have ended. */
function inProgressSamples(vmis: readonly EvacuationFacts[]): readonly Sample[] {
  const causes: readonly Cause[] = vmis.map(({ spec }) => spec.cause);
  return CAUSES.map((cause) => ({ labels: [cause], value: causes.filter((one) => one === cause).length }));
}

function deschedulingMetrics({
  counts,
  inProgress,
}: DeschedulingMetrics): readonly (readonly [Family, readonly Sample[]])[] {
  const samples = counts.map(({ plugin, profile, result, count }) => {
    return { labels: [plugin, profile, result.toLowerCase()], value: count };
  });
  return [
    [FAMILIES.podEvacuations, samples],
    [FAMILIES.podEvacuationsInProgress, [{ labels: [], value: inProgress }]],
  ];
}
