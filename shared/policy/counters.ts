/**
 * How evacuations have ended: the key of each counter.
 * Owns: keys and their reading. Does not own: the ConfigMap (shared/cluster), when one is counted (evacuation.ts).
 */
import { type Cause, CAUSES } from "./cause.ts";
import { END_PHASES, type EndPhase } from "./evacuation/phase.ts";

/** A key of the counters' ConfigMap. */
export function counterKey(cause: Cause, outcome: EndPhase): string {
  return `${cause}.${outcome}`;
}

export interface EvacuationCount {
  readonly cause: Cause;
  readonly outcome: EndPhase;
  readonly count: number;
}

/** All there can be, so that the first one of a kind is an increase. What is no number counts as 0. */
export function countsOf(data: Readonly<Record<string, string>>): readonly EvacuationCount[] {
  return CAUSES.flatMap((cause) =>
    END_PHASES.map((outcome) => ({ cause, outcome, count: numberOf(data[counterKey(cause, outcome)]) })),
  );
}

function numberOf(text: string | undefined): number {
  const count = Number(text ?? 0);
  return Number.isInteger(count) && count >= 0 ? count : 0;
}
