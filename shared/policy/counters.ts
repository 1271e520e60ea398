/**
 * How evacuations have ended, which evictions nothing could turn into one, and which ticks have not reached the cluster: the key of
 * each counter.
 * Owns: keys and reading them. Does not own: the ConfigMap (shared/cluster), when an end is counted (evacuation/world.ts).
 */
import { type Cause, CAUSES, EVICTION_CAUSES } from "./cause.ts";
import { END_PHASES, type EndPhase } from "./evacuation/phase.ts";

/** A key of the counters' ConfigMap. */
export function counterKey(cause: Cause, outcome: EndPhase): string {
  return `${cause}.${outcome}`;
}

export function refusalKey(cause: Cause): string {
  return `refused.${cause}`;
}

export const MISSED_TICKS = "ticks.missed";
export const BLIND_EVICTIONS = "blind.evictions";

export interface Counters {
  /** Every counter that can exist, so that the first end of a kind is an increase. */
  readonly evacuations: readonly EvacuationCount[];
  readonly refusals: readonly { readonly cause: Cause; readonly count: number }[];
  readonly missedTicks: number;
  readonly blindEvictions: number;
}

export interface EvacuationCount {
  readonly cause: Cause;
  readonly outcome: EndPhase;
  readonly count: number;
}

/** What is not a number counts as 0. */
export function countsOf(data: Readonly<Record<string, string>>): Counters {
  const evacuations = CAUSES.flatMap((cause) =>
    END_PHASES.map((outcome) => ({ cause, outcome, count: numberOf(data[counterKey(cause, outcome)]) })),
  );
  const refusals = EVICTION_CAUSES.map((cause) => ({ cause, count: numberOf(data[refusalKey(cause)]) }));
  const [missedTicks, blindEvictions] = [numberOf(data[MISSED_TICKS]), numberOf(data[BLIND_EVICTIONS])];
  return { evacuations, refusals, missedTicks, blindEvictions };
}

function numberOf(text: string | undefined): number {
  const count = Number(text ?? 0);
  return Number.isInteger(count) && count >= 0 ? count : 0;
}
