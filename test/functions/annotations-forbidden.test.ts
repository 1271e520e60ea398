/**
 * Without the right to annotate launcher pods, under the shipped roles: the failure is logged, and nothing else suffers.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import type { EvacuationRecord } from "../../shared/policy/record.ts";
import { record } from "../policy/fixtures.ts";
import { IN_PROGRESS } from "../policy/launchers.ts";
import { asOperator, asWebhook, type Doors, openDoors } from "./support/doors.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "./support/test-cluster.ts";

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
    expect(body).toMatchObject({ done: { CreateBudget: 1, Record: 1 }, failures: 1 });
    for (const line of logged()) expect(line).toMatchObject({ failure: FORBIDDEN });
    expect(logged().length).toBeGreaterThan(0);
    await doors.settle();
    expect((await cluster.getVmi("web"))?.metadata.labels).toHaveProperty(["lifeboat.dev/evacuation"]);
    expect(await ready(doors)).toMatchObject({ code: 503 });
  });

  /** As a KubeVirt leaves it behind that has fallen silent since. */
  async function leftBehind(name: string, nodeName: string, ofRecord: Partial<EvacuationRecord> = {}): Promise<void> {
    const key = await cluster.createVm({ name, strategy: "LiveMigrate" });
    const inProgress = { metadata: { annotations: { [IN_PROGRESS]: "true" } } };
    await cluster.client.patch(core.pods, key, { type: "merge", body: inProgress });
    const labels = { "lifeboat.dev/evacuation": "normal" };
    const annotations = { "lifeboat.dev/evacuation": JSON.stringify(record(ofRecord)) };
    await cluster.patchVmi(name, { metadata: { labels, annotations }, status: { nodeName } });
  }

  const labelOf = async (name: string) => (await cluster.getVmi(name))?.metadata.labels?.["lifeboat.dev/evacuation"];

  test("a VM that has moved loses its label as soon as the pod it has left has ended", async () => {
    await leftBehind("moved", "node02");
    await reconcile(doors);
    await doors.settle();
    expect(await labelOf("moved")).toBe("normal");
    const key = { namespace: NAMESPACE, name: "virt-launcher-moved-abcde" };
    await cluster.client.patch(
      core.pods,
      key,
      { type: "merge", body: { status: { phase: "Succeeded" } } },
      { subresource: "status" },
    );
    await reconcile(doors);
    await doors.settle();
    expect(await labelOf("moved")).toBeUndefined();
    expect((await cluster.client.get(core.pods, key))?.metadata.annotations).toHaveProperty([IN_PROGRESS]);
  });

  test("one whose evacuation was cancelled, when the back-off is over", async () => {
    await leftBehind("cancelled", "node01", { outcome: "Cancelled", notBefore: "2026-11-20T12:05:00Z" });
    await reconcile(doors);
    await doors.settle();
    expect(await labelOf("cancelled")).toBe("normal");
    doors.pass(300);
    await reconcile(doors);
    await doors.settle();
    expect(await labelOf("cancelled")).toBeUndefined();
  });
});
