/** Evacuations that have ended are counted, at most once, and a count is in no evacuation's way. */
import { afterEach, beforeEach, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import { asWebhook, type Before, openDoors } from "./support/doors.ts";
import { ROLES } from "./support/roles.ts";
import { startTestCluster, type TestCluster } from "./support/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

async function scan(before?: Before): Promise<void> {
  const doors = openDoors({ CLUSTERS: { prod: cluster.entry } }, before);
  await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await doors.settle();
}

async function counted(): Promise<unknown> {
  const key = { namespace: "lifeboat-system", name: "lifeboat-counters" };
  return (await cluster.client.get(core.configMaps, key))?.data;
}

const breaking: Before = (request) => {
  if (request === "POST /api/v1/namespaces/lifeboat-system/configmaps") throw new TypeError("the connection broke");
};
const nothing = async () => undefined;
const noRole = () => {
  const key = { namespace: "lifeboat-system", name: "lifeboat" };
  return cluster.client.patch(ROLES, key, { type: "merge", body: { rules: [] } });
};

// prettier-ignore
test.each<[string, () => Promise<unknown>, Before | undefined, unknown]>([
  ["is counted once, however many look",                       nothing, undefined, { "ApiEviction.Gone": "1" }],
  ["ends all the same where counters cannot be written",       nothing, breaking,  undefined],
  ["ends all the same where counters may not be read",         noRole,  undefined, undefined],
])("an evacuation %s", async (_, prepare, before, expected) => {
  await prepare();
  await cluster.createVm({ name: "web", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
  await scan();
  await cluster.patchVmi("web", { status: { phase: "Succeeded" } });
  await Promise.all([scan(before), scan(before), scan(before)]);
  await scan();
  expect((await cluster.client.list(evacuations)).items).toMatchObject([{ status: { phase: "Gone" } }]);
  expect(await counted()).toEqual(expected);
});
