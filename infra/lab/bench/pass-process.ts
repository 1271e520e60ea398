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

const { url, caPem, token, work, paths, webhookToken } = argumentOf(
  z.object({
    url: z.string(),
    caPem: z.string(),
    token: z.string(),
    webhookToken: z.string(),
    work: z.enum(["full reconcile", "idle tick", "reading"]),
    /** What is read, page by page. */
    paths: z.array(z.string()),
  }),
);
setDefaultCACertificates([...getCACertificates("default"), caPem]);

let requests = 0;
const countingFetch: Platform["fetch"] = async (address, init) => {
  requests += 1;
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
const Page = z.object({ metadata: z.object({ continue: z.string().optional() }) });
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
      for (const path of paths) await readAll(path);
  }
}

/** Reads what a reconcile reads, and looks at nothing. */
async function readAll(path: string): Promise<void> {
  const headers = { accept: "application/json", authorization: `Bearer ${token}` };
  let next = "";
  do {
    const answer = await countingFetch(`${url}${path}${next}`, { headers });
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status}`);
    const { metadata } = Page.parse(await answer.json());
    next = metadata.continue ? `&continue=${encodeURIComponent(metadata.continue)}` : "";
  } while (next !== "");
}

// The first request of a process loads fetch and opens the connection: that is Node's cost.
await fetch(`${url}/version`, { headers: { authorization: `Bearer ${token}` } }).then((answer) => answer.text());
const before = process.cpuUsage();
await perform();
const { user, system } = process.cpuUsage(before);
say({ requests, cpuMs: (user + system) / 1000 });
process.exit();
