/** Lifeboat's Worker with a clock that is wrong: `CLOCK_SKEW_SECONDS` fast. */
import { createApp } from "../../../../functions/app.ts";
import type { Env, Platform } from "../../../../functions/env.ts";
import { runTick } from "../../../../functions/schedule.ts";
import { newIsolateState } from "../../../../functions/target.ts";

interface ShiftedEnv extends Env {
  readonly CLOCK_SKEW_SECONDS?: string;
}

let skewMs = 0;

const platform: Platform = {
  fetch: (url, init) => fetch(url, init),
  now: () => new Date(Date.now() + skewMs),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  timeout: (ms) => AbortSignal.timeout(ms),
  random: Math.random,
  log: (line) => console.log(JSON.stringify(line)),
};
const state = newIsolateState();
const app = createApp(platform, state);

function shifted(env: ShiftedEnv): ShiftedEnv {
  skewMs = Number(env.CLOCK_SKEW_SECONDS ?? 0) * 1000;
  return env;
}

export default {
  fetch: (request: Request, env: ShiftedEnv, context: Parameters<typeof app.fetch>[2]) =>
    app.fetch(request, shifted(env), context),
  scheduled: (tick: { readonly scheduledTime: number }, env: ShiftedEnv) =>
    runTick(tick.scheduledTime, { env: shifted(env), platform, state }),
};
