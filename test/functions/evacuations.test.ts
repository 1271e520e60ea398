/** The list of evacuations, and cancelling one. */
import { afterAll, beforeEach, beforeAll, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import { CANNED_VMI, startCannedCluster } from "./support/canned-cluster.ts";
import { asOperator, asWebhook, type Before, type Doors, entry, openDoors } from "./support/doors.ts";
import { evictionOf, review } from "./support/reviews.ts";
import { json, status } from "./support/stub-server.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "./support/test-cluster.ts";

let cluster: TestCluster;
let doors: Doors;
beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.configure({ reconcilers: { budget: "Disabled" }, evacuation: { adoptSeconds: 3600 } });
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

const taint = (taints: readonly object[]) =>
  cluster.client.patch(core.nodes, { name: "node01" }, { type: "merge", body: { spec: { taints } } });

async function scan(): Promise<void> {
  await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await doors.settle();
}

/** KubeVirt's own for the mark, unless annotated otherwise. */
async function createMigration(vmiName: string, phase: string, annotations: Record<string, string> = FOR_THE_MARK) {
  const key = { namespace: NAMESPACE, name: `migration-of-${vmiName}` };
  const labels = { "kubevirt.io/vmi-name": vmiName };
  await cluster.client.create(kubevirt.migrations, { metadata: { ...key, labels, annotations }, spec: { vmiName } });
  const body = { status: { phase } };
  await cluster.client.patch(kubevirt.migrations, key, { type: "merge", body }, { subresource: "status" });
}
const FOR_THE_MARK = { "kubevirt.io/evacuationMigration": "node01" };

const migrationOf = (vmi: string) =>
  cluster.client.get(kubevirt.migrations, { namespace: NAMESPACE, name: `migration-of-${vmi}` });
const markOf = async (name: string) => (await cluster.getVmi(name))?.status?.evacuationNodeName;

async function evacuationsOf(name: string) {
  const { items } = await cluster.client.list(evacuations, NAMESPACE);
  return items.filter(({ spec }) => spec.virtualMachineInstance.name === name);
}

const listed = (vmiName: string, told: Readonly<Record<string, unknown>>) => ({
  namespace: NAMESPACE,
  spec: { vmiName, cause: "ApiEviction", requestedBy: "admin" },
  status: { sourceNode: "node01", ...told },
});

const NOT_EVACUATING = {
  code: 404,
  body: { error: { reason: "NotEvacuating", field: "name", message: "no evacuation of this VMI is under way" } },
};

describe("the list", () => {
  test("is empty where nothing is under way", async () => {
    await cluster.createVm({ name: "still", strategy: "LiveMigrate" });
    expect(await list()).toMatchObject({ code: 200, body: { evacuations: [] } });
  });

  test("has every Evacuation that has not ended, and where it stands", async () => {
    await evacuate("ready");
    await evacuate("outside", "External");
    await evacuate("moving");
    await evacuate("over");
    await cancel("over");
    await createMigration("moving", "Running");
    await scan();
    const { body } = await list();
    expect(body).toMatchObject({
      evacuations: [
        listed("moving", { phase: "Migrating", migration: { name: "migration-of-moving" } }),
        listed("outside", { phase: "WaitingForOwner" }),
        listed("ready", { phase: "Pending" }),
      ],
    });
  });
});

describe("a cancel", () => {
  test("clears the mark, deletes the pending migration, starts the back-off, and says so", async () => {
    const pod = await evacuate("cancelled");
    await createMigration("cancelled", "Pending");
    const [evacuation] = await evacuationsOf("cancelled");
    expect(await cancel("cancelled")).toMatchObject({
      code: 200,
      body: {
        cancelled: { namespace: NAMESPACE, name: "cancelled" },
        evacuations: [evacuation?.metadata.name],
      },
    });
    expect(await markOf("cancelled")).toBeUndefined();
    expect(await migrationOf("cancelled")).toBeUndefined();
    expect(await evacuationsOf("cancelled")).toMatchObject([
      {
        spec: { intent: "Withdrawn" },
        status: { phase: "Withdrawn", reason: "IntentWithdrawn", nextAttemptTime: "2026-11-20T12:00:20.000Z" },
      },
    ]);
    expect(await cluster.storyOf("cancelled")).toEqual(
      expect.arrayContaining(["EvacuationTriggered", "EvacuationCancelled"]),
    );
    const again = await review(open(), evictionOf(pod));
    expect(again.text).toContain('VMI \\"apps/cancelled\\" was withdrawn; Lifeboat begins no new one for 20 s');
    expect(await cancel("cancelled")).toMatchObject(NOT_EVACUATING);
  });

  // prettier-ignore
  test.each<[string, string, Record<string, string>]>([
    ["that moves the guest, to its end",  "Running", FOR_THE_MARK],
    ["that has nothing to do with it",    "Pending", { "kubevirt.io/workloadUpdateMigration": "" }],
  ])("leaves a migration %s", async (_, phase, annotations) => {
    const name = `left-${phase.toLowerCase()}`;
    await evacuate(name);
    await createMigration(name, phase, annotations);
    expect(await cancel(name)).toMatchObject({ code: 200 });
    expect(await migrationOf(name)).toBeDefined();
    expect(await markOf(name)).toBeUndefined();
  });

  test("of a mark that another party has set: it becomes an Evacuation, which is withdrawn", async () => {
    const labels = { app: "theirs", "lifeboat.dev/evacuation": "urgent" };
    const marked = { evacuationNodeName: "node01" };
    await cluster.createVm({ name: "theirs", strategy: "LiveMigrate", status: marked, metadata: { labels } });
    expect(await cancel("theirs")).toMatchObject({ code: 200, body: { evacuations: [expect.any(String)] } });
    expect(await markOf("theirs")).toBeUndefined();
    expect((await cluster.getVmi("theirs"))?.metadata.labels).toEqual({ app: "theirs" });
    expect(await evacuationsOf("theirs")).toMatchObject([{ status: { phase: "Withdrawn" } }]);
  });

  test("withdraws every Evacuation of the VMI, a person's too", async () => {
    await evacuate("twice");
    await cluster.client.create(evacuations, {
      metadata: { namespace: NAMESPACE, name: "by-hand" },
      spec: { virtualMachineInstance: { name: "twice" } },
    });
    expect(await cancel("twice")).toMatchObject({
      code: 200,
      body: { evacuations: expect.arrayContaining(["by-hand"]) },
    });
    expect((await evacuationsOf("twice")).map(({ spec }) => spec.intent)).toEqual(["Withdrawn", "Withdrawn"]);
    expect(await markOf("twice")).toBeUndefined();
    expect(await cancel("twice")).toMatchObject(NOT_EVACUATING);
  });

  test("that was done halfway is done to its end by the next look", async () => {
    await evacuate("halfway");
    await createMigration("halfway", "Pending");
    const killed = open((request) => {
      if (request.startsWith("DELETE")) throw new TypeError("the connection broke");
    });
    expect(await cancel("halfway", killed)).toMatchObject({ code: 200 });
    expect(await evacuationsOf("halfway")).toMatchObject([
      { spec: { intent: "Withdrawn" }, status: { phase: "Pending" } },
    ]);
    await scan();
    expect(await migrationOf("halfway")).toBeUndefined();
    expect(await evacuationsOf("halfway")).toMatchObject([{ status: { phase: "Withdrawn" } }]);
  });

  test("of nothing", async () => {
    await cluster.createVm({ name: "idle", strategy: "LiveMigrate" });
    expect(await cancel("idle")).toMatchObject(NOT_EVACUATING);
    expect(await cancel("no-such-vmi")).toMatchObject(NOT_EVACUATING);
  });

  test("is refused under the drain taint, which would begin the evacuation again", async () => {
    await evacuate("tainted");
    await taint([{ key: "kubevirt.io/drain", effect: "NoSchedule" }]);
    const message = 'node "node01" carries the drain taint kubevirt.io/drain: remove that first';
    expect(await cancel("tainted")).toMatchObject({ code: 409, body: { error: { reason: "DrainTaint", message } } });
    expect(await evacuationsOf("tainted")).toMatchObject([{ spec: { intent: "Evacuate" } }]);
    expect(await markOf("tainted")).toBe("node01");
    await taint([]);
    expect(await cancel("tainted")).toMatchObject({ code: 200 });
  });

  test("whose Event cannot be told is a cancel", async () => {
    const marked = { ...CANNED_VMI, status: { ...CANNED_VMI.status, evacuationNodeName: "node01" } };
    const server = await startCannedCluster({
      vmi: json(marked),
      mark: json(CANNED_VMI),
      event: status(403, "Forbidden"),
    });
    const there = openDoors({ CLUSTERS: { prod: entry(server.url) } });
    expect(await cancel("web", there)).toMatchObject({ code: 200 });
    await server.stop();
  });
});
