/**
 * One pass over a cluster in a fresh process, as a child of the benchmark: the app of the Worker in Node, counted.
 * Owns: counting requests, bytes, CPU and memory. Does not own: the pass (functions/, shared/).
 */
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import * as z from "zod";
import { createApp } from "../../functions/app.ts";
import type { Platform } from "../../functions/env.ts";
import { runTick } from "../../functions/schedule.ts";
import { newIsolateState } from "../../functions/target.ts";
import { argumentOf, say } from "./child.ts";

const { url, caPem, token, work, memory } = argumentOf(
  z.object({
    url: z.string(),
    caPem: z.string(),
    token: z.string(),
    work: z.enum(["full", "idle", "floor"]),
    /** Whether to look at the memory instead of the CPU: the garbage is collected after every answer. */
    memory: z.boolean(),
  }),
);
setDefaultCACertificates([...getCACertificates("default"), caPem]);

let [requests, bytes, peakHeap] = [0, 0, 0];
const heapBefore = liveHeap();

function liveHeap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

async function countingFetch(address: string, init: RequestInit): Promise<Response> {
  const { status, headers, ...response } = await fetch(address, init).then(async (answer) => ({
    status: answer.status,
    headers: answer.headers,
    body: await answer.arrayBuffer(),
  }));
  requests += 1;
  bytes += response.body.byteLength;
  if (memory) peakHeap = Math.max(peakHeap, liveHeap());
  return new Response(response.body, { status, headers });
}

const webhookToken = "webhook-token-of-the-benchmark";
const env = { CLUSTERS: JSON.stringify({ bench: { server: url, token, webhookToken } }) };
const platform: Platform = {
  fetch: countingFetch,
  now: () => new Date(),
  sleep: () => Promise.resolve(),
  log: (line) => {
    if ("level" in line) console.error(JSON.stringify(line));
  },
};
const state = newIsolateState();
const app = createApp(platform, state);

const LISTS = [
  "/apis/policy/v1/poddisruptionbudgets",
  "/apis/kubevirt.io/v1/virtualmachineinstances",
  "/api/v1/nodes",
  "/apis/kubevirt.io/v1/virtualmachineinstancemigrations",
];

/** Resolves to what was done: action verb to count. */
async function perform(): Promise<Readonly<Record<string, number>>> {
  switch (work) {
    case "full":
      return await reconcile();
    case "idle":
      // The first minute of an hour is one for a full scan.
      await runTick(60_000, { env, platform, state });
      return {};
    case "floor":
      for (const path of LISTS) await listAll(path);
      return {};
  }
}

const Reconciled = z.object({ done: z.record(z.string(), z.number()), failures: z.literal(0) });

async function reconcile(): Promise<Readonly<Record<string, number>>> {
  const headers = { authorization: `Bearer ${webhookToken}` };
  const context = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };
  const answer = await app.request("/clusters/bench/reconcile", { method: "POST", headers }, env, context);
  return Reconciled.parse(await answer.json()).done;
}

const Page = z.object({ metadata: z.object({ continue: z.string().optional() }) });

/** Reads what a pass reads, and looks at nothing. */
async function listAll(path: string): Promise<void> {
  const headers = { accept: "application/json", authorization: `Bearer ${token}` };
  let next: string | undefined;
  do {
    const query = new URLSearchParams({ limit: "250", ...(next === undefined ? {} : { continue: next }) });
    const answer = await countingFetch(`${url}${path}?${query.toString()}`, { headers });
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status}`);
    next = Page.parse(JSON.parse(await answer.text())).metadata.continue;
  } while (next);
}

// The first request of a process loads fetch and opens the connection: that is Node's cost, not a pass's.
await fetch(`${url}/version`, { headers: { authorization: `Bearer ${token}` } }).then((answer) => answer.text());
const cpuBefore = process.cpuUsage();
const begin = performance.now();
const done = await perform();
const ms = performance.now() - begin;
const { user, system } = process.cpuUsage(cpuBefore);
say({ requests, bytes, cpuMs: (user + system) / 1000, ms, heap: Math.max(0, peakHeap - heapBefore), done });
process.exit();
