/** What memory.test.ts runs in an isolate of limited memory: lists VMIs and says how many there are, or reviews so often and says what was answered. */
import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod/mini";
import { createApp } from "../../../functions/app.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { createClient } from "../../../shared/kube/client.ts";
import { asWebhook, entry, newPlatform } from "../../support/doors.ts";
import { evictionReview } from "../../support/reviews.ts";

const Order = z.object({ server: z.string(), reviews: z.optional(z.number()) });
const { server, reviews } = Order.parse(workerData);
parentPort?.postMessage(reviews === undefined ? await list() : await review(reviews), []);

/** Memory is the limit here, not time. */
const never = () => new AbortController().signal;

async function list(): Promise<number> {
  const endpoint = { server, token: "t", headers: {}, fetch: (url: string, init: RequestInit) => fetch(url, init) };
  const cluster = createClient({ endpoint, signal: never(), timeout: never, onOddItem: () => undefined });
  return (await cluster.list("virtualmachineinstances")).length;
}

/** At the same time. */
async function review(count: number): Promise<object> {
  const { platform, context } = newPlatform();
  const app = createApp(platform, newIsolateState());
  const env = { CLUSTERS: JSON.stringify({ prod: entry(server) }) };
  const body = JSON.stringify(evictionReview({ request: { dryRun: true } }));
  const ask = async () => {
    const path = "/clusters/prod/admission/evictions?timeout=30s";
    const answer = await app.request(path, { method: "POST", headers: asWebhook, body }, env, context);
    return await answer.text();
  };
  const answers = await Promise.all(Array.from({ length: count }, ask));
  const busy = answers.filter((text) => text.includes("as much as it can")).length;
  return { busy, reviewed: answers.filter((text) => text.includes('"allowed":')).length - busy };
}
