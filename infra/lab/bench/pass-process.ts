/** One reconcile in a fresh process, as a child of the benchmark: the app of the Worker in Node, counted. */
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import * as z from "zod";
import { PLATFORM } from "../stage/platform.ts";
import { tickTime } from "../stage/tick-times.ts";
import { createApp } from "../../../functions/app.ts";
import type { Platform } from "../../../functions/env.ts";
import { runTick } from "../../../functions/schedule.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { argumentOf, say } from "./child.ts";

const { url, caPem, token, work, addresses, webhookToken } = argumentOf(
  z.object({
    url: z.string(),
    caPem: z.string(),
    token: z.string(),
    webhookToken: z.string(),
    work: z.enum(["full reconcile", "idle tick", "reading"]),
    /** For `reading`: what a pass has read. */
    addresses: z.array(z.string()),
  }),
);
setDefaultCACertificates([...getCACertificates("default"), caPem]);

let requests = 0;
const read: string[] = [];
const countingFetch: Platform["fetch"] = async (address, init) => {
  requests += 1;
  if ((init?.method ?? "GET") === "GET") read.push(address);
  return await fetch(address, init);
};
const env = { CLUSTERS: JSON.stringify({ bench: { server: url, token, webhookToken } }) };
const platform: Platform = {
  ...PLATFORM,
  fetch: countingFetch,
  // A tick never throws: that it has failed, only the log says.
  log: (line) => {
    if (line["level"] === "error") throw new Error(JSON.stringify(line));
  },
};
const state = newIsolateState();
const Reconciled = z.object({ done: z.strictObject({}), failures: z.literal(0) });

async function perform(): Promise<void> {
  switch (work) {
    case "full reconcile": {
      const init = { method: "POST", headers: { authorization: `Bearer ${webhookToken}` } };
      const context = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };
      const answer = await createApp(platform, state).request("/clusters/bench/reconcile", init, env, context);
      // A cluster at rest is not changed: otherwise the figures are of something else.
      return void Reconciled.parse(await answer.json());
    }
    case "idle tick":
      return await runTick(tickTime("bench", "small").getTime(), { env, platform, state });
    case "reading":
      for (const address of addresses) await readAgain(address);
  }
}

/** Reads and parses, and looks at nothing. */
async function readAgain(address: string): Promise<void> {
  const headers = { accept: "application/json", authorization: `Bearer ${token}` };
  const answer = await countingFetch(address, { headers });
  if (!answer.ok && answer.status !== 404) throw new Error(`GET ${address}: ${answer.status}`);
  await answer.json();
}

// The first request of a process loads fetch and opens the connection: that is Node's cost.
await fetch(`${url}/version`, { headers: { authorization: `Bearer ${token}` } }).then((answer) => answer.text());
const before = process.cpuUsage();
await perform();
const { user, system } = process.cpuUsage(before);
say({ requests, cpuMs: (user + system) / 1000, read });
process.exit();
