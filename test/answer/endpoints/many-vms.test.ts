/** Many VMs of a namespace cost its API server little in any cluster, and a tenant's budgets affect only that tenant. */
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

/** Requests for each VM, everything that follows the answers included. */
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
/** Lists that other VMs of the namespace make longer. */
const growing = () => requests.filter((label) => /^(?:list|count) \S+$/.test(label));

test("first ones, Events and status included: 6 requests a VM", async () => {
  expect(await costOf(evictAll)).toBeLessThanOrEqual(6);
  expect(growing()).toEqual([]);
});

test("the first repeat, which sees KubeVirt's mark: 5 requests a VM, so that a tick leaves it at 13", async () => {
  for (const { namespace, name } of fake.vmis.list()) fake.setMark({ namespace, name }, NODE);
  app.pass(5);
  expect(await costOf(evictAll)).toBeLessThanOrEqual(5);
  expect(growing()).toEqual([]);
});

test("further ones: the 3 reads of the answer, and nothing after it", async () => {
  const costs = [];
  for (let i = 0; i < 2; i++) {
    app.pass(5);
    costs.push(await costOf(evictAll));
  }
  expect(costs).toEqual([3, 3]);
  expect(growing()).toEqual([]);
});

test("a tick meanwhile: two reads a VM, and nothing is written; other VMs and their migrations are not read", async () => {
  app.pass(15);
  expect(await tick()).toBeLessThan(2.1);
  expect(requests.filter((label) => !/^(?:get|list|count) /.test(label))).toEqual([]);
  // The first one has read the settings as well.
  await tick();
  const before = objects;
  for (let i = 0; i < 60; i++) {
    putVm(fake, `other-${i}`);
    fake.migrations.put(migration({ name: `m${i}`, uid: `m${i}`, vmiName: `other-${i}`, phase: "Succeeded" }));
  }
  await tick();
  expect(objects).toBe(before);
});

test("200 budgets of 250 KB in a tenant's namespace: every other VM gets what it is to get", async () => {
  const greedy = new FakeCluster();
  const there = openApp(greedy);
  for (let i = 0; i < 200; i++) {
    // Labelled as if they were Lifeboat's: any others are not even listed.
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
