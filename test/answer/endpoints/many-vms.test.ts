/**
 * Tests that many VMs cause few requests to the API server. The PodDisruptionBudgets of a tenant affect only that
 * tenant.
 */
import { beforeAll, expect, test } from "vitest";
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { type App, asWebhook, openApp } from "../../support/app.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { migration, NODE, NOW } from "../../support/fixtures.ts";
import { evictionOf } from "../../support/reviews.ts";
import { putVm } from "./support/fleets.ts";

const COUNT = 200;
const IN_FLIGHT = 8;

const fake = new FakeCluster();
const pods = Array.from({ length: COUNT }, (_, i) => putVm(fake, `vm-${i}`));
const requests: string[] = [];
let objects = 0;
let app: App;
beforeAll(async () => {
  fake.configure({ disruptionBudgets: "Never" });
  app = openApp(fake, (label, asked) => {
    requests.push(label);
    if (asked?.verb === "list") objects += Object(fake.api.answer(asked).body).items.length;
  });
  await app.evict(evictionOf({ namespace: "apps", name: "nothing" }));
});

/** Returns the number of requests per VM, including those that Lifeboat sends after it has answered. */
async function costOf(work: () => Promise<unknown>): Promise<number> {
  await app.settle();
  requests.length = 0;
  objects = 0;
  await work();
  await app.settle();
  return requests.length / COUNT;
}

async function evictAll(): Promise<void> {
  const queue = pods.values();
  const drain = async () => {
    for (const pod of queue) await app.evict(evictionOf(pod));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, drain));
}

const tick = () => costOf(() => app.tick(tickTime("prod", "small")));
const growing = () => requests.filter((label) => /^(?:list|count) \S+$/.test(label));

test("a first eviction costs at most 6 requests per VM, Events and status included", async () => {
  expect(await costOf(evictAll)).toBeLessThanOrEqual(6);
  expect(growing()).toEqual([]);
});

test("a first repeat, after KubeVirt's mark, costs at most 5 requests per VM", async () => {
  for (const { namespace, name } of fake.vmis.list()) fake.setMark({ namespace, name }, NODE);
  app.pass(5);
  expect(await costOf(evictAll)).toBeLessThanOrEqual(5);
  expect(growing()).toEqual([]);
});

test("a further repeat costs the 3 reads of its answer", async () => {
  const costs = [];
  for (let i = 0; i < 2; i++) {
    app.pass(5);
    costs.push(await costOf(evictAll));
  }
  expect(costs).toEqual([3, 3]);
  expect(growing()).toEqual([]);
});

test("a tick during a drain reads two objects per VM, writes nothing, and reads no other VM", async () => {
  app.pass(15);
  expect(await tick()).toBeLessThan(2.1);
  expect(requests.filter((label) => !/^(?:get|list|count) /.test(label))).toEqual([]);
  // The first tick also read the settings, so the test compares only later ticks.
  await tick();
  const before = objects;
  for (let i = 0; i < 60; i++) {
    putVm(fake, `other-${i}`);
    fake.migrations.put(migration({ name: `m${i}`, uid: `m${i}`, vmiName: `other-${i}`, phase: "Succeeded" }));
  }
  await tick();
  expect(objects).toBe(before);
});

test("200 budgets of 250 KB in a tenant's namespace do not affect other VMs", async () => {
  const greedy = new FakeCluster();
  const there = openApp(greedy);
  for (let i = 0; i < 200; i++) {
    // Lifeboat lists only budgets with this label.
    const labels = { "app.kubernetes.io/managed-by": "lifeboat" };
    const annotations = { note: "x".repeat(250_000) };
    const metadata = { namespace: "greedy", name: `large-${i}`, uid: `large-${i}`, resourceVersion: "1" };
    const spec = { minAvailable: 1, selector: { matchLabels: { app: "none" } } };
    greedy.api.put("poddisruptionbudgets", { metadata: { ...metadata, labels, annotations }, spec });
  }
  putVm(greedy, "own", { namespace: "greedy" });
  putVm(greedy, "new");
  await there.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await there.settle();
  const budgets = greedy.budgets.list(({ namespace }) => namespace === "apps");
  expect(budgets.map(({ owners }) => owners[0]?.name)).toEqual(["new"]);
  expect(there.now()).toEqual(NOW);
});
