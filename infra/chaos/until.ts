/**
 * Waiting for something in memory to become true, which watches keep up to date.
 * Owns: that. Does not own: what.
 */
import { setTimeout as delay } from "node:timers/promises";

const LOOK_EVERY_MS = 20;

/** Whether it has within this time. */
export async function until(condition: () => boolean, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (!condition()) {
    if (performance.now() > end) return false;
    await delay(LOOK_EVERY_MS);
  }
  return true;
}
