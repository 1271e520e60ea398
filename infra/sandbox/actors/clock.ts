/** The clock of all actors. Tests can replace the system clock and move the time forward. */
export interface Clock {
  now(): Date;
  /**
   * Calls `fn` once after `ms` milliseconds. Because of a limit of Node.js, the delay is at most 24 days. The returned
   * function cancels the timer.
   */
  setTimer(ms: number, fn: () => void): () => void;
}

/** Formats the current time as Kubernetes does, in whole seconds. */
export function timestamp(clock: Clock): string {
  return clock
    .now()
    .toISOString()
    .replace(/\.\d+Z$/, "Z");
}

export function microTimestamp(clock: Clock): string {
  return clock
    .now()
    .toISOString()
    .replace(/(\.\d{3})Z$/, "$1000Z");
}

export const systemClock: Clock = {
  now: () => new Date(),
  setTimer(ms, fn) {
    const timer = setTimeout(fn, Math.min(ms, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms` milliseconds, or earlier if the signal is aborted. */
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

export interface SteppedClock extends Clock {
  /** Moves the time forward from one due timer to the next, so that each timer fires at its exact time. */
  advance(ms: number): void;
}

export function createSteppedClock(start: Date = new Date("2026-01-01T00:00:00Z")): SteppedClock {
  let time = start.getTime();
  const timers = new Set<{ readonly at: number; readonly fn: () => void }>();

  const nextDue = (until: number) => {
    let next: { readonly at: number; readonly fn: () => void } | undefined;
    for (const timer of timers) if (timer.at <= until && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  };

  return {
    now: () => new Date(time),
    setTimer(ms, fn) {
      const timer = { at: time + Math.max(0, ms), fn };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms) {
      const until = time + ms;
      for (let due = nextDue(until); due !== undefined; due = nextDue(until)) {
        timers.delete(due);
        time = due.at;
        due.fn();
      }
      time = until;
    },
  };
}
