/** Gives Lifeboat's app the clock, the network and the log of this process. */
import { setTimeout as delay } from "node:timers/promises";
import type { Platform } from "../../../functions/env.ts";

export const PLATFORM: Platform = {
  fetch: (url, init) => fetch(url, init),
  now: () => new Date(),
  sleep: (ms) => delay(ms),
  timeout: (ms) => AbortSignal.timeout(ms),
  random: () => 0,
  log: () => undefined,
};
