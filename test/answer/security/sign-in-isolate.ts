/** What memory.test.ts runs in an isolate of its own: sign-ins of strangers. Says by how many bytes the live heap grows with each. */
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod/mini";
import { createApp } from "../../../functions/app.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { tokenOf } from "../../support/canned-cluster.ts";
import { entry, newPlatform } from "../../support/doors.ts";

const { cluster, signIns } = z.object({ cluster: z.string(), signIns: z.number() }).parse(workerData);
const ROUNDS = 4;
setFlagsFromString("--expose-gc");
const collect = z.function().parse(runInNewContext("gc"));

const { platform, context } = newPlatform(undefined, undefined, {
  log: () => undefined,
  // One of its own is kept until it is over.
  timeout: () => new AbortController().signal,
  fetch: async () => Response.json({ status: { user: {}, error: "invalid bearer token" } }),
});
const app = createApp(platform, newIsolateState());
const env = { CLUSTERS: JSON.stringify({ prod: entry("http://127.0.0.1:1") }) };
const headers = { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" };
const signIn = async (times: number) => {
  for (let i = 0; i < times; i++) {
    const body = new URLSearchParams({ cluster, token: tokenOf({ signature: `guess-${i}` }) }).toString();
    const answer = await app.request("https://lifeboat.test/signin", { method: "POST", headers, body }, env, context);
    await answer.text();
  }
  // What a first collection finds to be finalised goes with a later one.
  for (let i = 0; i < 3; i++) {
    await setImmediate();
    collect();
  }
  return process.memoryUsage().heapUsed;
};

// The engine's own growth (compiled code, caches) comes in some rounds; what is kept of a sign-in grows in each.
const growths: number[] = [];
let before = await signIn(signIns / 4);
for (let round = 0; round < ROUNDS; round++) {
  const after = await signIn(signIns / ROUNDS);
  growths.push(after - before);
  before = after;
}
parentPort?.postMessage(Math.min(...growths) / (signIns / ROUNDS), []);
