/**
 * Without the right to annotate launcher pods, under the shipped roles: the failure is logged, and nothing else suffers.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asOperator, asWebhook, type Doors, openDoors } from "./support/doors.ts";
import { startTestCluster, type TestCluster } from "./support/test-cluster.ts";

const GATE = { featureGates: { DeschedulerSupport: true } };

const reconcile = (doors: Doors) => doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
const ready = (doors: Doors) => doors.request("/clusters/prod/readyz", { headers: asOperator });

describe("without the permission, under the shipped roles", () => {
  let cluster: TestCluster;
  let doors: Doors;
  beforeAll(async () => {
    cluster = await startTestCluster();
    doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
    await cluster.configure({ ...GATE, reconcilers: { annotations: "Enabled" } });
  });
  afterAll(() => cluster.stop());

  const FORBIDDEN = { reason: "Refused", code: 403 };
  const logged = () => doors.log.filter(({ doing }) => doing === "reconciling: annotations");

  test("the failure is logged, and everything else is done", async () => {
    await cluster.createVm({ name: "web", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
    const { body } = await reconcile(doors);
    expect(body).toMatchObject({ done: { CreateEvacuation: 1 } });
    expect(logged()[0]).toMatchObject({ failure: FORBIDDEN });
    expect(await ready(doors)).toMatchObject({ code: 503 });
  });
});
