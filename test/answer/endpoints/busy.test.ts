/**
 * Tests the answer to a review when the reviews in progress have reached their maximum number or fill the memory for
 * reviews, and the answers after these reviews have ended.
 */
import { beforeEach, expect, test } from "vitest";
import { NOW, pod } from "../../support/fixtures.ts";
import { podObject } from "../../support/cluster/pods-and-nodes.ts";
import { VMI_OBJECT, configured, clusterWith } from "../../support/cluster/one-vm.ts";
import { type Answer, type App, asWebhook, openApp } from "../../support/app.ts";
import { deletionOf, evictionReview, refusal } from "../../support/reviews.ts";
import { json } from "../../support/answers.ts";
import { MemoryBudget, MOST_BYTES, MOST_REVIEWS } from "../../../shared/kube/transport.ts";

const MB = 1024 * 1024;
const GUARDED = { featureGates: { PreemptionEvictionLiveMigration: true } };
const WAITING = { namespace: "apps", name: "waiting" };
const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';
const TRY_AGAIN = "try again: Lifeboat has no memory for another review now: try again";

let app: App;
let gate: PromiseWithResolvers<void>;
let waiting: Promise<Answer>[];
/** The number of waiting reviews that have read their whole body and now read their pod. */
let held: number;
beforeEach(async () => {
  const annotations = { padding: "x".repeat(4 * MB) };
  const cluster = clusterWith({
    "get lifeboatconfigurations": configured(GUARDED),
    "get virtualmachineinstances": json({ ...VMI_OBJECT, metadata: { ...VMI_OBJECT.metadata, annotations } }),
  });
  gate = Promise.withResolvers<void>();
  gate.promise.catch(() => undefined);
  held = 0;
  app = openApp(cluster, async (_, request) => {
    if (request?.name !== "waiting") return;
    held += 1;
    await gate.promise;
  });
  // The first review reads the settings, so later reviews do not read them.
  await app.evict(evictionReview({ request: { dryRun: true } }));
  // Ends the waiting reviews with an error, so that they do not read the large VMI.
  return () => gate.reject(new TypeError("the connection broke"));
});

async function fill(count: number, bytes = 0): Promise<void> {
  const request = { ...WAITING, padding: "", dryRun: true };
  const least = JSON.stringify(evictionReview({ request })).length;
  const padding = "x".repeat(Math.max(0, Math.floor(bytes / count) - least));
  waiting = Array.from({ length: count }, () => app.evict(evictionReview({ request: { ...request, padding } })));
  await expect.poll(() => held, { interval: 1 }).toBe(count);
}

const drain = () => app.evict(evictionReview());
const preempt = (secondsAgo: number) => {
  const since = new Date(NOW.getTime() - secondsAgo * 1000).toISOString();
  const victim = pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since } });
  const body = JSON.stringify(deletionOf(podObject(victim)));
  const path = "/clusters/prod/admission/deletions?timeout=30s";
  return app.request(path, { method: "POST", headers: asWebhook, body });
};

const kubectlSees = (what: string) => refusal(`cannot decide on the eviction of ${what}, ${TRY_AGAIN}`);
const retried = (what: string) => {
  const message = `cannot decide on the deletion of ${what}, ${TRY_AGAIN}`;
  return { response: { allowed: false, status: { code: 429, message, details: { retryAfterSeconds: 5 } } } };
};

const EVICTED = 'pod "apps/virt-launcher-web-abcde"';
const FEW_BYTES = MOST_BYTES - 3 * MB;

// prettier-ignore
test.each<readonly [number, number, string, () => Promise<Answer>, Readonly<Record<string, unknown>>]>([
  // reviews     bytes      the next review               is sent by          its answer
  [MOST_REVIEWS, 0,         "an eviction",                  drain,              kubectlSees("a pod")],
  [MOST_REVIEWS, 0,         "a preemption",                 () => preempt(0),   retried("a pod")],
  [4,            FEW_BYTES, "an eviction",                  drain,              kubectlSees(EVICTED)],
])("beside %d reviews of %d bytes in total, %s has to be tried again", async (...[count, bytes, , ask, expected]) => {
  await fill(count, bytes);
  expect(await ask()).toMatchObject({ code: 200, retryAfter: null, body: expected });
  // The review was answered at once.
  expect(app.now()).toEqual(NOW);
});

test("without memory for the facts, the review of a preemption fails, so the policies in the API server decide", async () => {
  await fill(4, FEW_BYTES);
  expect(await preempt(0)).toMatchObject({ code: 503 });
});

test("requests without a valid token do not count toward the maximum number of reviews", async () => {
  await fill(MOST_REVIEWS - 1);
  const headers = { authorization: "Bearer wrong" };
  const path = "/clusters/prod/admission/evictions";
  const strangers = Array.from({ length: 10 }, () => app.request(path, { method: "POST", headers, body: "{}" }));
  expect(new Set((await Promise.all(strangers)).map(({ code }) => code))).toEqual(new Set([401]));
  expect(await drain()).toMatchObject({ body: refusal(TRIGGERED) });
});

test("the memory of reviews is free again when they have been answered", async () => {
  await fill(8, MOST_BYTES - 64);
  expect((await drain()).body).toEqual(kubectlSees("a pod"));
  gate.resolve();
  await Promise.all(waiting);
  await app.settle();
  expect(await drain()).toMatchObject({ body: refusal(TRIGGERED) });
});

test("the memory of a review whose Worker invocation was stopped is free after a minute", () => {
  const budget = new MemoryBudget();
  expect(budget.openReview(NOW).take(MOST_BYTES)).toBe(true);
  expect(budget.openReview(new Date(NOW.getTime() + 59_000)).take(1)).toBe(false);
  expect(budget.openReview(new Date(NOW.getTime() + 60_000)).take(1)).toBe(true);
});

test("if reviews together fill the memory budget, the oldest review continues first", () => {
  const budget = new MemoryBudget();
  const [first, second] = [budget.openReview(NOW), budget.openReview(NOW)];
  expect([first.take(MOST_BYTES / 2), second.take(MOST_BYTES / 2)]).toEqual([true, true]);
  expect([second.take(1), first.take(1)]).toEqual([false, true]);
  first.end();
  expect(second.take(MOST_BYTES)).toBe(true);
});
