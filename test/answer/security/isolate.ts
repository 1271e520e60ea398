/**
 * Runs one task of memory.test.ts in an isolate with limited memory: lists VMIs, watches pods, forecasts a drain, or
 * reviews evictions.
 */
import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod/mini";
import { KubeConfig } from "@kubernetes/client-node";
import { apiServerOf } from "../../../infra/relay/api-server.ts";
import { PODS } from "../../../infra/relay/kinds.ts";
import { keptOf } from "../../../infra/relay/stores.ts";
import { startWatch } from "../../../infra/relay/watch.ts";
import { createSteppedClock } from "../../../infra/sandbox/index.ts";
import { readPreflight } from "../../../shared/preflight/read.ts";
import { DEFAULT_SETTINGS } from "../../../shared/settings/settings.ts";
import { type Client, createClient } from "../../../shared/kube/client.ts";
import { entry, openApp } from "../../support/app.ts";
import { evictionReview } from "../../support/reviews.ts";

const Order = z.object({
  server: z.string(),
  doing: z.enum(["list", "watch", "forecast", "review"]),
  reviews: z._default(z.number(), 0),
});
const { server, doing, reviews } = Order.parse(workerData);
const DEEDS = { list, watch, forecast, review: () => review(reviews) };
/** Returns a signal without a deadline, because the test limits only the memory. */
const never = () => new AbortController().signal;

parentPort?.postMessage(await DEEDS[doing](), []);

function connect(): Client {
  const endpoint = { server, token: "t", headers: {}, fetch: (url: string, init: RequestInit) => fetch(url, init) };
  return createClient({ endpoint, signal: never(), timeout: never, onOddItem: () => undefined });
}

async function list(): Promise<number> {
  return (await connect().list("virtualmachineinstances")).length;
}

async function watch(): Promise<number> {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromClusterAndUser({ name: "c", server, skipTLSVerify: true }, { name: "u" });
  const [clock, nothing] = [createSteppedClock(), () => undefined];
  const options = {
    api: apiServerOf(kubeConfig),
    clock,
    random: () => 0,
    log: nothing,
    onChange: nothing,
    onFailure: nothing,
  };
  const watched = startWatch(keptOf("pods", PODS, true), options);
  await watched.synced;
  watched.stop();
  return [...watched.all()].length;
}

async function forecast(): Promise<unknown> {
  const observer = { cluster: connect(), settings: DEFAULT_SETTINGS, now: new Date() };
  return (await readPreflight("node-1", { deleteEmptyDirData: false, force: false }, observer))?.unread;
}

async function review(count: number): Promise<object> {
  const app = openApp({ CLUSTERS: { prod: entry(server) } });
  const ask = async () => (await app.evict(evictionReview({ request: { dryRun: true } }), "30s")).text;
  const answers = await Promise.all(Array.from({ length: count }, ask));
  const busy = answers.filter((text) => text.includes("as much as it can")).length;
  return { busy, reviewed: answers.filter((text) => text.includes('"allowed":')).length - busy };
}
