/** The source of time: the system clock, or a clock that tests control. */
export interface Clock {
  now(): Date;
  /** Runs `fn` once, after `ms` milliseconds. The returned function cancels the timer. */
  setTimer(ms: number, fn: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => new Date(),
  setTimer(ms, fn) {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits for `ms` milliseconds. Returns early if the signal is aborted. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.setTimer(ms, end);
    signal.addEventListener("abort", end);
  });
}

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

export type Random = () => number;

/**
 * Returns the delay before the next try. The delay doubles with every failure. Half of the delay is random, so that two
 * replicas do not retry at the same time.
 */
export function backoffMs({ firstMs, longestMs }: Backoff, failures: number, random: Random): number {
  const full = Math.min(firstMs * 2 ** Math.max(0, failures - 1), longestMs);
  return full / 2 + (full / 2) * random();
}
