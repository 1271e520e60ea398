/** Ticks of a whole fleet, as a child of the benchmark: the schedule of the Worker in Node, each cluster's requests counted. */
import { AsyncLocalStorage } from "node:async_hooks";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Env, Platform } from "../../../functions/env.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { receiveTicks, runTick } from "../../../functions/schedule.ts";
import { argumentOf, say } from "./child.ts";
import { FleetSchema, type FleetTick } from "./fleet-ticks.ts";

const { clusters, caPems, ticks, consumers } = argumentOf(FleetSchema);
setDefaultCACertificates([...getCACertificates("default"), ...caPems]);

/** A header of each entry says whose request it is: many clusters share an API server here. */
const WHOSE = "x-cluster";
const MINUTE_MS = 60_000;

let minute = 0;
const current = new AsyncLocalStorage<Counting>();

class Counting {
  readonly began = performance.now();
  readonly servedMs: Record<string, number> = {};
  requests = 0;
  bytes = 0;

  count(cluster: string | null, url: string, status: number, bytes: number): void {
    this.requests += 1;
    this.bytes += bytes;
    const isServed = cluster !== null && status === 200 && new URL(url).pathname.endsWith("/evacuations");
    if (isServed) this.servedMs[cluster] ??= performance.now() - this.began;
  }
}

const platform: Platform = {
  async fetch(url, init) {
    const counting = current.getStore();
    const answer = await fetch(url, init);
    const body = await answer.arrayBuffer();
    counting?.count(new Headers(init.headers).get(WHOSE), url, answer.status, body.byteLength);
    return new Response(body, { status: answer.status, headers: answer.headers });
  },
  now: () => new Date(Date.now() + minute * MINUTE_MS),
  sleep: () => Promise.resolve(),
  timeout: (ms) => AbortSignal.timeout(ms),
  random: Math.random,
  log: () => undefined,
};
const CLUSTERS = JSON.stringify(
  Object.fromEntries(Object.entries(clusters).map(([name, entry]) => [name, { ...entry, headers: { [WHOSE]: name } }])),
);

/** One invocation for each message, each with an isolate's memory of its own. */
async function tick(scheduledTime: number): Promise<void> {
  if (consumers === 0) return await runTick(scheduledTime, { env: { CLUSTERS }, platform, state });
  const bodies: unknown[] = [];
  const TICKS: Env["TICKS"] = { sendBatch: async (batch) => void bodies.push(...batch.map(({ body }) => body)) };
  await runTick(scheduledTime, { env: { CLUSTERS, TICKS }, platform, state });
  const messages = bodies.values();
  const consume = async () => {
    for (const body of messages) await receiveTicks([body], { env: { CLUSTERS }, platform, state: newIsolateState() });
  };
  await Promise.all(Array.from({ length: consumers }, consume));
}

const state = newIsolateState();
const done: FleetTick[] = [];
for (; minute < ticks; minute += 1) {
  const counting = new Counting();
  await current.run(counting, () => tick(minute * MINUTE_MS));
  const { servedMs, requests, bytes } = counting;
  done.push({ servedMs, requests, bytes });
}
say({ ticks: done });
process.exit();
