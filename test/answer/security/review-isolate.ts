/** What memory.test.ts runs in an isolate of limited memory: so many reviews at a time. Says how many got which code, and what refused. */
import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod/mini";
import { createApp } from "../../../functions/app.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { asWebhook, entry, newPlatform } from "../../support/doors.ts";
import { evictionReview } from "../../support/reviews.ts";

const Order = z.object({ server: z.string(), reviews: z.number() });
const { server, reviews } = Order.parse(workerData);
const Answer = z.object({
  response: z.object({ status: z.optional(z.object({ code: z.number(), message: z.string() })) }),
});

const { platform, context } = newPlatform();
const app = createApp(platform, newIsolateState());
const env = { CLUSTERS: JSON.stringify({ prod: entry(server) }) };
const init = {
  method: "POST",
  headers: asWebhook,
  body: JSON.stringify(evictionReview({ request: { dryRun: true } })),
};
const ask = async () => {
  const answer = await app.request("/clusters/prod/admission/evictions?timeout=30s", init, env, context);
  const { response } = Answer.parse(await answer.json());
  return response.status?.message.includes("as much as it can") === true ? "busy" : "reviewed";
};
const answers = await Promise.all(Array.from({ length: reviews }, ask));
const count = (what: string) => answers.filter((answer) => answer === what).length;
parentPort?.postMessage({ busy: count("busy"), reviewed: count("reviewed") }, []);
