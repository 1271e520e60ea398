/** The entry point of the Worker: the HTTP app, the scheduled handler and the queue's consumer. */
import { createApp } from "./app.ts";
import type { Env, Platform } from "./env.ts";
import { receiveTicks, runTick } from "./schedule.ts";
import { newIsolateState } from "./target.ts";

const platform: Platform = {
  fetch: (url, init) => fetch(url, init),
  now: () => new Date(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  timeout: (ms) => AbortSignal.timeout(ms),
  random: Math.random,
  log: (line) => console.log(JSON.stringify(line)),
};
const state = newIsolateState();
const app = createApp(platform, state);

export default {
  fetch: app.fetch,
  scheduled: (tick: { readonly scheduledTime: number }, env: Env) =>
    runTick(tick.scheduledTime, { env, platform, state, stays: () => true }),
  queue: (batch: { readonly messages: readonly { readonly body: unknown }[] }, env: Env) =>
    receiveTicks(
      batch.messages.map(({ body }) => body),
      { env, platform, state, stays: () => true },
    ),
};
