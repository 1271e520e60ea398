/** Waits for conditions in a cluster whose API server can be unavailable. */
import { setTimeout as delay } from "node:timers/promises";
import { isNotFound } from "../../sandbox/index.ts";

const AGAIN_MS = 100;
const TRIES = 100;
const POLL_MS = 20;

/** Repeats the work until it succeeds. Rejects if an object does not exist, or after 100 tries. */
export async function persist<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (isNotFound(error) || tries === TRIES) throw error;
      await delay(AGAIN_MS);
    }
  }
}

/**
 * Waits for the condition, and returns whether it became true in time. Limits the number of checks instead of the time,
 * because a busy machine makes only a few checks in the same time.
 */
export async function until(condition: () => boolean, ms: number): Promise<boolean> {
  for (let polls = 0; !condition(); polls++) {
    if (polls * POLL_MS >= ms) return false;
    await delay(POLL_MS);
  }
  return true;
}
