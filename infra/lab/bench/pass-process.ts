/** One pass over a cluster in a fresh process, as a child of the benchmark: the app of the Worker in Node, counted. */
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import * as z from "zod";
import { tickTime } from "../stage/tick-times.ts";
import { createApp } from "../../../functions/app.ts";
import type { Platform } from "../../../functions/env.ts";
import { runTick } from "../../../functions/schedule.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { argumentOf, say } from "./child.ts";
import { type Done, Reconciled, readCycle, type Work, WorkSchema } from "./pass-work.ts";

const { url, caPem, token, work } = argumentOf(
  z.object({ url: z.string(), caPem: z.string(), token: z.string(), work: WorkSchema }),
);
setDefaultCACertificates([...getCACertificates("default"), caPem]);

let [requests, bytes] = [0, 0];
const answers: ArrayBuffer[] = [];

async function countingFetch(address: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(address, init);
  const body = await answer.arrayBuffer();
  requests += 1;
  bytes += body.byteLength;
  answers.push(body);
  return new Response(body, { status: answer.status, headers: answer.headers });
}

const Answer = z.object({ items: z.array(z.unknown()).optional() });

/** When everything is over, so that it costs the pass nothing. */
function countObjects(): number {
  const found = answers.map((body) => Answer.safeParse(JSON.parse(new TextDecoder().decode(body))));
  return found.reduce((sum, { data }) => sum + (data?.items?.length ?? 1), 0);
}

/** A tick never throws: that it has failed, only the log says. */
const failures: unknown[] = [];

const webhookToken = "webhook-token-of-the-benchmark";
const env = { CLUSTERS: JSON.stringify({ bench: { server: url, token, webhookToken } }) };
const platform: Platform = {
  fetch: countingFetch,
  now: () => new Date(),
  sleep: () => Promise.resolve(),
  timeout: (ms) => AbortSignal.timeout(ms),
  random: Math.random,
  log: (line) => {
    if ("level" in line) console.error(JSON.stringify(line));
    if (line["level"] === "error") failures.push(line);
  },
};
const state = newIsolateState();
const app = createApp(platform, state);

async function perform(work: Work): Promise<Done> {
  switch (work.work) {
    case "reconcile":
      return { done: Reconciled.parse(await ask("/clusters/bench/reconcile")).done, requested: [] };
    case "tick":
      await runTick(tickTime("bench", "small").getTime(), { env, platform, state });
      return { done: {}, requested: [] };
    case "deschedule":
      return readCycle(await ask(`/clusters/bench/deschedule?dryRun=${work.dryRun}`));
    case "read":
      for (const list of work.lists) await readAll(list);
      return { done: {}, requested: [] };
  }
}

async function ask(path: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${webhookToken}` };
  const context = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };
  return await (await app.request(path, { method: "POST", headers }, env, context)).json();
}

const Page = z.object({ metadata: z.object({ continue: z.string().optional() }) });

/** Reads what a pass reads, and looks at nothing. */
async function readAll({ path, query }: Extract<Work, { work: "read" }>["lists"][number]): Promise<void> {
  const headers = { accept: "application/json", authorization: `Bearer ${token}` };
  let next: string | undefined;
  do {
    const asked = new URLSearchParams({ ...query, ...(next === undefined ? {} : { continue: next }) });
    const answer = await countingFetch(`${url}${path}?${asked.toString()}`, { headers });
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status}`);
    next = Page.parse(JSON.parse(await answer.text())).metadata.continue;
  } while (next);
}

// The first request of a process loads fetch and opens the connection: that is Node's cost, not a pass's.
await fetch(`${url}/version`, { headers: { authorization: `Bearer ${token}` } }).then((answer) => answer.text());
const cpuBefore = process.cpuUsage();
const begin = performance.now();
const done = await perform(work);
const ms = performance.now() - begin;
const { user, system } = process.cpuUsage(cpuBefore);
if (failures.length > 0) throw new Error(`the time of a pass that has failed is no result: ${JSON.stringify(work)}`);
say({ requests, objects: countObjects(), bytes, cpuMs: (user + system) / 1000, ms, ...done });
process.exit();
