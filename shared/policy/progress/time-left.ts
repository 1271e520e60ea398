/** How long a drain still takes. */
import type { DrainTime } from "../preflight/result.ts";
import { durationText } from "../duration-text.ts";

export interface Pace {
  /** VMs that this drain has moved, and that are still to move. */
  readonly moved: number;
  readonly left: number;
  readonly elapsedSeconds: number;
}

/** From what the preflight expected until the first VM has moved, then from what this drain has measured. */
export function timeLeft(expected: DrainTime | undefined, { moved, left, elapsedSeconds }: Pace): string | undefined {
  if (left === 0) return undefined;
  if (moved > 0) return `about ${durationText((elapsedSeconds / moved) * left)} left`;
  if (expected === undefined) return undefined;
  const [least, most] = [expected.seconds.least, expected.seconds.most].map((seconds) => seconds - elapsedSeconds);
  if (least === undefined || most === undefined || most <= 0) return undefined;
  return least <= 0
    ? `at most ${durationText(most)} left`
    : `about ${durationText(least)} to ${durationText(most)} left`;
}
