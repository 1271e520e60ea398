/** The list of evacuations, and cancelling one. */
import { afterAll, beforeEach, beforeAll, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { CANNED_VMI, startCannedCluster } from "./support/canned-cluster.ts";
import { asOperator, type Before, type Doors, entry, NOW, openDoors } from "./support/doors.ts";
import { evictionOf, review } from "./support/reviews.ts";
import { json, status } from "./support/stub-server.ts";
import { NAMESPACE, QUIET, startTestCluster, type TestCluster } from "./support/test-cluster.ts";

let cluster: TestCluster;
let doors: Doors;
beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.configure(QUIET);
});
beforeEach(() => (doors = open()));
afterAll(() => cluster.stop());

const open = (before?: Before) => openDoors({ CLUSTERS: { prod: cluster.entry } }, before);
const list = () => doors.request("/clusters/prod/evacuations", { headers: asOperator });
const cancel = (name: string, there = doors) =>
  there.request(`/clusters/prod/evacuations/${NAMESPACE}/${name}`, { method: "DELETE", headers: asOperator });

async function evacuate(name: string, strategy = "LiveMigrate"): Promise<{ namespace: string; name: string }> {
  const pod = await cluster.createVm({ name, strategy });
  await review(doors, evictionOf(pod));
  await doors.settle();
  return pod;
}

async function createMigration(vmiName: string, phase: string, annotations: Record<string, string>): Promise<string> {
  const key = { namespace: NAMESPACE, name: `migration-of-${vmiName}` };
  await cluster.client.create(kubevirt.migrations, { metadata: { ...key, annotations }, spec: { vmiName } });
  const body = { status: { phase } };
  await cluster.client.patch(kubevirt.migrations, key, { type: "merge", body }, { subresource: "status" });
  return key.name;
}

const migrationOf = (vmi: string) =>
  cluster.client.get(kubevirt.migrations, { namespace: NAMESPACE, name: `migration-of-${vmi}` });

async function recordOf(name: string): Promise<unknown> {
  const text = (await cluster.getVmi(name))?.metadata.annotations?.["lifeboat.dev/evacuation"];
  return text === undefined ? undefined : JSON.parse(text);
}

const NOT_EVACUATING = {
  code: 404,
  body: { error: { reason: "NotEvacuating", field: "name", message: "no evacuation of this VMI is under way" } },
};

describe("the list", () => {
  test("is empty where nothing is under way", async () => {
    await cluster.createVm({ name: "still", strategy: "LiveMigrate" });
    expect(await list()).toMatchObject({ code: 200, body: { evacuations: [] } });
  });

  test("has every VMI under evacuation, and where it stands", async () => {
    await evacuate("ready");
    await evacuate("outside", "External");
    await evacuate("moving");
    const migration = await createMigration("moving", "Running", { "kubevirt.io/evacuationMigration": "node01" });
    const common = { namespace: NAMESPACE, node: "node01", marked: true, urgency: "normal" };
    const record = { cause: "ApiEviction", requestedBy: "admin", node: "node01", since: NOW.toISOString() };
    doors.pass(60);
    const { body } = await list();
    expect(body).toMatchObject({
      evacuations: expect.arrayContaining([
        expect.objectContaining({ ...common, name: "ready", stage: "Ready", record: expect.objectContaining(record) }),
        expect.objectContaining({ ...common, name: "outside", stage: "External" }),
        expect.objectContaining({ ...common, name: "moving", stage: "Migrating", migration, phase: "Running" }),
      ]),
    });
  });
});

describe("a cancel", () => {
  test("clears the mark, deletes the pending migration, starts the back-off, and says so", async () => {
    const pod = await evacuate("cancelled");
    const migration = await createMigration("cancelled", "Pending", { "kubevirt.io/evacuationMigration": "node01" });
    expect(await cancel("cancelled")).toMatchObject({
      code: 200,
      body: { cancelled: { namespace: NAMESPACE, name: "cancelled" }, deletedMigrations: [migration] },
    });
    await doors.settle();
    expect((await cluster.getVmi("cancelled"))?.status?.evacuationNodeName).toBeUndefined();
    expect(await migrationOf("cancelled")).toBeUndefined();
    expect(await recordOf("cancelled")).toMatchObject({ outcome: "Cancelled", notBefore: "2026-11-20T12:00:20.000Z" });
    expect(await cluster.storyOf("cancelled")).toEqual(
      expect.arrayContaining(["EvacuationTriggered", "EvacuationCancelled"]),
    );
    const again = await review(open(), evictionOf(pod));
    expect(again.text).toContain(
      'the last evacuation of VMI \\"apps/cancelled\\" was cancelled; a new one can start in',
    );
  });

  test("leaves a migration that moves the guest to its end", async () => {
    await evacuate("running");
    await createMigration("running", "Running", { "kubevirt.io/evacuationMigration": "node01" });
    expect(await cancel("running")).toMatchObject({ code: 200, body: { deletedMigrations: [] } });
    expect(await migrationOf("running")).toBeDefined();
  });

  test("leaves a migration that has nothing to do with it", async () => {
    await evacuate("bystander");
    await createMigration("bystander", "Pending", { "kubevirt.io/workloadUpdateMigration": "" });
    expect(await cancel("bystander")).toMatchObject({ code: 200, body: { deletedMigrations: [] } });
    expect(await migrationOf("bystander")).toBeDefined();
  });

  test("of a mark that somebody else has set", async () => {
    await cluster.createVm({ name: "theirs", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
    expect(await cancel("theirs")).toMatchObject({ code: 200 });
    expect((await cluster.getVmi("theirs"))?.status?.evacuationNodeName).toBeUndefined();
  });

  test("that was done halfway is done to its end, and then there is nothing left", async () => {
    await evacuate("halfway");
    const killed = open((request) => {
      if (request.startsWith("GET") && request.endsWith("/virtualmachineinstancemigrations")) return;
      if (request.startsWith("DELETE")) throw new TypeError("the connection broke");
    });
    await createMigration("halfway", "Pending", { "kubevirt.io/evacuationMigration": "node01" });
    expect(await cancel("halfway", killed)).toMatchObject({ code: 503 });
    expect(await recordOf("halfway")).toMatchObject({ outcome: "Cancelled" });
    expect(await migrationOf("halfway")).toBeDefined();
    expect(await cancel("halfway")).toMatchObject({ code: 200 });
    expect(await migrationOf("halfway")).toBeUndefined();
    expect(await cancel("halfway")).toMatchObject(NOT_EVACUATING);
  });

  test("of nothing", async () => {
    await cluster.createVm({ name: "idle", strategy: "LiveMigrate" });
    expect(await cancel("idle")).toMatchObject(NOT_EVACUATING);
    expect(await cancel("no-such-vmi")).toMatchObject(NOT_EVACUATING);
  });

  test("is refused under the drain taint, which would begin the evacuation again", async () => {
    await evacuate("tainted");
    const taint = (taints: readonly object[]) =>
      cluster.client.patch(core.nodes, { name: "node01" }, { type: "merge", body: { spec: { taints } } });
    await taint([{ key: "kubevirt.io/drain", effect: "NoSchedule" }]);
    const message = 'node "node01" carries the drain taint kubevirt.io/drain: remove that first';
    expect(await cancel("tainted")).toMatchObject({ code: 409, body: { error: { reason: "DrainTaint", message } } });
    expect((await cluster.getVmi("tainted"))?.status?.evacuationNodeName).toBe("node01");
    await taint([]);
    expect(await cancel("tainted")).toMatchObject({ code: 200 });
  });

  test("of a VMI that keeps changing is a conflict, and changes nothing", async () => {
    await evacuate("restless");
    let change = 0;
    const restless = open(async (request) => {
      if (!request.startsWith("PATCH")) return;
      const record = JSON.stringify(await recordOf("restless"));
      const annotations = { "lifeboat.dev/evacuation": `${record}${" ".repeat(++change)}` };
      await cluster.patchVmi("restless", { metadata: { annotations } });
    });
    expect(await cancel("restless", restless)).toMatchObject({ code: 409, body: { error: { reason: "Conflict" } } });
    expect((await cluster.getVmi("restless"))?.status?.evacuationNodeName).toBe("node01");
  });

  test("that took long to look looks again: its rest counts from when it is written", async () => {
    await evacuate("slow");
    let looks = 0;
    const slow = open((request) => {
      if (request.startsWith("GET") && request.endsWith("/virtualmachineinstances/slow") && looks++ === 0) slow.pass(6);
    });
    expect(await cancel("slow", slow)).toMatchObject({ code: 200 });
    expect(looks).toBe(2);
    expect(await recordOf("slow")).toMatchObject({ outcome: "Cancelled", notBefore: "2026-11-20T12:00:26.000Z" });
  });

  test("that took long between its writes looks again: a migration that runs by then is not deleted", async () => {
    await evacuate("stalled");
    const migration = await createMigration("stalled", "Pending", { "kubevirt.io/evacuationMigration": "node01" });
    const key = { namespace: NAMESPACE, name: migration };
    const running = { type: "merge", body: { status: { phase: "Running" } } } as const;
    let writes = 0;
    const stalled = open(async (request) => {
      if (!request.startsWith("PATCH") || writes++ > 0) return;
      await cluster.client.patch(kubevirt.migrations, key, running, { subresource: "status" });
      stalled.pass(6);
    });
    expect(await cancel("stalled", stalled)).toMatchObject({ code: 200, body: { deletedMigrations: [] } });
    expect(await migrationOf("stalled")).toBeDefined();
    expect(await recordOf("stalled")).toMatchObject({ outcome: "Cancelled", notBefore: "2026-11-20T12:00:20.000Z" });
    expect(await cluster.storyOf("stalled")).toContain("EvacuationCancelled");
  });

  test("whose Event cannot be told is a cancel", async () => {
    const marked = { ...CANNED_VMI, status: { ...CANNED_VMI.status, evacuationNodeName: "node01" } };
    const node = { metadata: { name: "node01", uid: "u", resourceVersion: "1" }, spec: {} };
    const server = await startCannedCluster({
      vmi: json(marked),
      mark: json(CANNED_VMI),
      other: json(node),
      event: status(403, "Forbidden"),
    });
    const there = openDoors({ CLUSTERS: { prod: entry(server.url) } });
    expect(await cancel("web", there)).toMatchObject({ code: 200 });
    await there.settle();
    await server.stop();
  });
});

test("afterwards, the label goes with the back-off", async () => {
  await cluster.configure({ evacuation: { adoptSeconds: 0, backoffSeconds: 1 } });
  await cluster.createVm({ name: "tidy", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
  await cluster.patchVmi("tidy", { metadata: { labels: { "lifeboat.dev/evacuation": "normal" } } });
  await cancel("tidy");
  await doors.settle();
  expect((await cluster.getVmi("tidy"))?.metadata.labels).toEqual({ app: "tidy" });
  await cluster.configure(QUIET);
});
