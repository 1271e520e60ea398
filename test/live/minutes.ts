/**
 * Simulates minutes that are shorter than real minutes. Each minute fires the Worker's cron trigger, and every tenth
 * minute starts a full scan.
 */
import { setTimeout as delay } from "node:timers/promises";

const TICK_MS = 300;
const MINUTE_MS = 60_000;

export interface Minutes {
  tick(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the minutes. If `passing` is set, minutes also pass without a call of `tick`. */
export function startMinutes(scheduled: (time: Date) => Promise<void>, passing: boolean): Minutes {
  let minutes = 0;
  const stopped = new AbortController();
  const tick = async () => {
    minutes += 1;
    await scheduled(new Date(minutes * MINUTE_MS));
  };
  const pass = async () => {
    let pauseMs = TICK_MS;
    while (!stopped.signal.aborted) {
      await delay(pauseMs);
      const started = performance.now();
      if (!stopped.signal.aborted) await tick().catch(() => undefined);
      // Pauses at least as long as the tick took, so that slow ticks leave time for the test.
      pauseMs = Math.max(TICK_MS, performance.now() - started);
    }
  };
  const ended = passing ? pass() : Promise.resolve();
  const stop = () => {
    stopped.abort();
    return ended;
  };
  return { tick, stop };
}
