/** A pass that stalls between its look and its deed: a migration is created from what was seen a moment ago, or not at all. */
import { afterEach, beforeEach, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { asWebhook, type Doors, openDoors } from "./support/doors.ts";
import { startTestCluster, type TestCluster } from "./support/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.configure({ reconcilers: { budget: "Disabled" }, evacuation: { adoptSeconds: 0 } });
});
afterEach(() => cluster.stop());

async function migrations(): Promise<number> {
  return (await cluster.client.list(kubevirt.migrations)).items.length;
}

// prettier-ignore
test.each([
  [4,   1],
  [5,   0],
  [60,  0],
])("%d s after it has begun to look: %d migrations", async (seconds, created) => {
  let doors: Doors | undefined;
  let stalls = false;
  doors = openDoors({ CLUSTERS: { prod: cluster.entry } }, (request) => {
    // The pods of a VM with a slot are counted last.
    if (stalls && request === "GET /api/v1/namespaces/apps/pods") doors?.pass(seconds);
  });
  await cluster.createVm({ name: "web", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
  stalls = true;
  await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await doors.settle();
  expect(await migrations()).toBe(created);
  stalls = false;
  await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await doors.settle();
  expect(await migrations()).toBe(1);
  expect((await cluster.client.list(core.pods)).items).toHaveLength(1);
});
