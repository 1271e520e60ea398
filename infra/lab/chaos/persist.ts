/** Doing something in a cluster whose API server may be away just now. */
import { setTimeout as delay } from "node:timers/promises";
import { isNotFound } from "../../sandbox/actors/status-error.ts";

const AGAIN_MS = 100;
const TRIES = 100;

/** What is gone is not tried again. */
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
