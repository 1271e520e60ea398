/**
 * A clock that leaves out waiting: where nothing is being done, it is at once as late as the next timer wants it to be.
 *
 * A clock that is merely fast ends every patience early: at 3,600 times, a Lease of 15 s has ended before its renewal is answered. While a
 * request is under way, this one is as fast as any other.
 */
import type { Clock } from "../../relay/clock.ts";

export interface JumpingClock extends Clock {
  /** To be told whenever something has been done: there may be nothing left but to wait. */
  settle(): void;
}

/** What follows an answer has so many turns of the event loop to ask for something else. */
const TURNS = 4;

interface Timer {
  readonly due: number;
  readonly fn: () => void;
}

export function createJumpingClock(isBusy: () => boolean): JumpingClock {
  const timers = new Set<Timer>();
  let skippedMs = 0;
  let isSettling = false;
  const now = () => Date.now() + skippedMs;

  const jump = () => {
    const [next] = [...timers].toSorted((a, b) => a.due - b.due);
    if (next === undefined) return;
    skippedMs += Math.max(0, next.due - now());
    timers.delete(next);
    next.fn();
    settle();
  };
  const turn = (left: number) => {
    if (left > 0 && !isBusy()) return void setImmediate(turn, left - 1);
    isSettling = false;
    if (!isBusy()) jump();
  };
  const settle = () => {
    if (isSettling) return;
    isSettling = true;
    setImmediate(turn, TURNS);
  };
  return {
    now: () => new Date(now()),
    setTimer(ms, fn) {
      const timer = { due: now() + ms, fn };
      timers.add(timer);
      settle();
      return () => void timers.delete(timer);
    },
    settle,
  };
}
