/**
 * A clock that runs faster than the world's: KubeVirt's own back-off of 20 s then passes in a moment. It stands still while this process,
 * and so the cluster in it, does not get to run. Since only the cluster runs by it, it also shows that Lifeboat never compares its clock
 * with a cluster's.
 */
import { onTestFinished } from "vitest";
import { createSteppedClock, type SteppedClock } from "../../infra/sandbox/index.ts";

const STEP_MS = 20;

/** Until the end of a test; where several run at a time, that is said by its own `onTestFinished`. */
export function createFastClock(times: number, atEnd = onTestFinished): SteppedClock {
  const clock = createClockToHurry(times, atEnd);
  clock.hurry();
  return clock;
}

/** At the world's pace at first, so that a cluster is not ahead of Lifeboat by the time that its start took. */
export function createClockToHurry(times: number, atEnd = onTestFinished): SteppedClock & { hurry(): void } {
  const clock = createSteppedClock(new Date());
  let pace = 1;
  const stepping = setInterval(() => clock.advance(STEP_MS * pace), STEP_MS);
  atEnd(() => clearInterval(stepping));
  return Object.assign(clock, { hurry: () => void (pace = times) });
}
