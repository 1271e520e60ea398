/** Migrations that the API server does not let us create (admission, a quota, a permission): tried, counted, given up. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { evacuations } from "../../../infra/lab/stage/evacuations.ts";
import { asWebhook, type Before, openDoors } from "../../support/doors.ts";
import { forbid } from "./support/roles.ts";
import { startTestCluster, type TestCluster } from "../../support/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.configure({ disruptionBudgets: "Never", evacuation: { maxAttempts: 2, adoptSeconds: 0 } });
});
afterEach(() => cluster.stop());

/** The API server answers 422, as it does where admission refuses. */
const spoilt: Before = (request, init) => {
  if (request.startsWith("POST") && request.endsWith("/virtualmachineinstancemigrations")) {
    init.body = JSON.stringify({ metadata: { name: "No Name" }, spec: {} });
  }
};

const A_YEAR_SECONDS = 365 * 24 * 3600;

test.each([
  ["by admission", async () => {}, spoilt],
  ["for want of a permission", () => forbid(cluster.client, "create", "virtualmachineinstancemigrations"), undefined],
])("%s: each is an attempt, with its back-off; after the last one the mark goes", async (_, prepare, before) => {
  await prepare();
  const doors = openDoors({ CLUSTERS: { prod: cluster.entry } }, before);
  await cluster.createVm({ name: "web", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
  // The API server's clock is ahead of the test's.
  for (const _ of [1, 2, 3]) {
    doors.pass(A_YEAR_SECONDS);
    await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
    await doors.settle();
    doors.pass(60);
  }
  expect((await cluster.getVmi("web"))?.status?.evacuationNodeName).toBeUndefined();
  expect((await cluster.client.list(evacuations)).items).toMatchObject([
    { status: { phase: "Abandoned", attempts: 2 } },
  ]);
  const story = await cluster.storyOf("web");
  expect(story.filter((reason) => reason === "MigrationRefused")).toHaveLength(2);
  expect(story).toContain("EvacuationAbandoned");
  expect(story).not.toContain("MigrationCreated");
});
