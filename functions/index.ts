/**
 * The Worker: one Hono app and the scheduled handler, on the real platform.
 * Owns: the wiring. Does not own: anything that a test would want to look at (app.ts, schedule.ts).
 */
import { createApp } from "./app.ts";
import type { Env, Platform } from "./env.ts";
import { runTick } from "./schedule.ts";
import { newIsolateState } from "./target.ts";

const platform: Platform = {
  fetch: (url, init) => fetch(url, init),
  now: () => new Date(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  log: (line) => console.log(JSON.stringify(line)),
};
const state = newIsolateState();
const app = createApp(platform, state);

export default {
  fetch: app.fetch,
  scheduled: (tick: { readonly scheduledTime: number }, env: Env) =>
    runTick(tick.scheduledTime, { env, platform, state }),
};
