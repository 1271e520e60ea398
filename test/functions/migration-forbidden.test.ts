/** Migrations that the API server does not let us create (a quota, a policy, a permission): tried, counted, given up. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { asWebhook, openDoors } from "./support/doors.ts";
import { forbid } from "./support/roles.ts";
import { startTestCluster, type TestCluster } from "./support/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.configure({ reconcilers: { evacuation: true, budget: false }, evacuation: { maxAttempts: 2 } });
  await forbid(cluster.client, "create", "virtualmachineinstancemigrations");
});
afterEach(() => cluster.stop());

test("each is an attempt, with its back-off; after the last one the mark goes, and Events say why", async () => {
  const doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
  await cluster.createVm({ name: "web", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
  for (const _ of [1, 2, 3]) {
    await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
    await doors.settle();
  }
  expect((await cluster.getVmi("web"))?.status?.evacuationNodeName).toBeUndefined();
  const story = await cluster.storyOf("web");
  expect(story.filter((reason) => reason === "MigrationRefused")).toHaveLength(2);
  expect(story).toContain("EvacuationAbandoned");
});
