/** Actions against a real API server: what each leaves in the world, twice, and when the world has changed. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { type Cluster, connect } from "../../shared/cluster/cluster.ts";
import type { Action } from "../../shared/policy/action.ts";
import type { BudgetFacts, MigrationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { slotFor } from "../../shared/policy/slots.ts";
import { CANNED_VMI, startCannedCluster } from "../functions/support/canned-cluster.ts";
import { json, status } from "../functions/support/stub-server.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "../functions/support/test-cluster.ts";
import { record, vmi as vmiFixture } from "../policy/fixtures.ts";

const RECORD = record();
const NOW = new Date("2026-01-01T00:00:00Z");

const PLATFORM = { now: () => NOW, sleep: () => Promise.resolve() };

let world: TestCluster;
let cluster: Cluster;
beforeAll(async () => {
  world = await startTestCluster();
  cluster = connectTo(world.entry);
});
afterAll(() => world.stop());

function connectTo({ server, token }: { server: string; token: string }): Cluster {
  const endpoint = { server, token, headers: {}, fetch: (url: string, init: RequestInit) => fetch(url, init) };
  return connect({ ...PLATFORM, endpoint, signal: AbortSignal.timeout(60_000), onOddItem: () => undefined });
}

const SETTINGS = { kubevirtNamespace: "kubevirt", marking: "Impersonate" } as const;
const act = (action: Action) => cluster.act(action, SETTINGS);

function present<T>(found: T | undefined): T {
  if (found === undefined) throw new Error("it is not there");
  return found;
}

async function observed(name: string, tweak: object = {}): Promise<VmiFacts> {
  await world.createVm({ name, strategy: "LiveMigrate", ...tweak });
  return await look(name);
}

const findMigration = (name: string) => world.client.get(kubevirt.migrations, { namespace: NAMESPACE, name });
const migrationOf = async (name: string): Promise<MigrationFacts> =>
  present((await cluster.listMigrations({ namespace: NAMESPACE, name }))[0]);
const budgetCalled = async (name: string): Promise<BudgetFacts> =>
  present((await cluster.listBudgets(NAMESPACE)).find((budget) => budget.name === name));
const look = async (name: string) => present(await cluster.getVmi({ namespace: NAMESPACE, name }));
const mark = (vmi: VmiFacts): Action => ({ verb: "Mark", vmi, record: RECORD, urgency: "urgent" });

describe("on VMIs", () => {
  test("Mark, and again: the second has been overtaken by the first", async () => {
    const vmi = await observed("marked");
    expect([await act(mark(vmi)), await act(mark(vmi))]).toEqual(["Done", "Conflict"]);
    expect(await look("marked")).toMatchObject({
      evacuationNodeName: "node01",
      record: RECORD,
      evacuationLabel: "urgent",
    });
  });

  test("Record: no mark", async () => {
    const vmi = await observed("recorded");
    expect(await act({ verb: "Record", vmi, record: RECORD, urgency: "normal" })).toBe("Done");
    expect(await look("recorded")).toMatchObject({ record: RECORD, evacuationLabel: "normal" });
    expect(await look("recorded")).not.toHaveProperty("evacuationNodeName");
  });

  test("Unmark: the record says how it ended, the label stays", async () => {
    await act(mark(await observed("unmarked")));
    const ended = record({ outcome: "Cancelled" });
    expect(await act({ verb: "Unmark", vmi: await look("unmarked"), record: ended })).toBe("Done");
    expect(await look("unmarked")).toMatchObject({ record: ended, evacuationLabel: "urgent" });
    expect(await look("unmarked")).not.toHaveProperty("evacuationNodeName");
  });

  test("Unmark: a record written since is not overwritten", async () => {
    const vmi = await observed("adopted", { metadata: { annotations: { note: "x" } } });
    await act({ verb: "Record", vmi, record: RECORD, urgency: "normal" });
    expect(await act({ verb: "Unmark", vmi, record: record({ outcome: "Cancelled" }) })).toBe("Conflict");
  });

  test("Forget: as if nothing had been; and again", async () => {
    const before = await observed("forgotten");
    await act(mark(before));
    const vmi = await look("forgotten");
    expect([await act({ verb: "Forget", vmi }), await act({ verb: "Forget", vmi })]).toEqual(["Done", "Conflict"]);
    expect({ ...(await look("forgotten")), resourceVersion: "" }).toEqual({ ...before, resourceVersion: "" });
  });

  test.each<[string, (vmi: VmiFacts) => Action, string]>([
    ["Mark", mark, "Conflict"],
    ["Record", (vmi) => ({ verb: "Record", vmi, record: RECORD, urgency: "normal" }), "Conflict"],
    ["Unmark", (vmi) => ({ verb: "Unmark", vmi, record: RECORD }), "Done"],
    ["Forget", (vmi) => ({ verb: "Forget", vmi }), "Done"],
  ])("%s on one that is gone", async (_, action, result) => {
    expect(await act(action({ ...vmiFixture(), namespace: NAMESPACE, name: "nobody" }))).toBe(result);
  });
});

describe("on migrations", () => {
  test("Create, and again: one", async () => {
    const slot = slotFor({ vmi: await observed("created"), record: RECORD });
    const create: Action = { verb: "CreateMigration", slot };
    expect([await act(create), await act(create)]).toEqual(["Done", "Done"]);
    expect(await findMigration(slot.name)).toMatchObject({
      metadata: {
        labels: { "app.kubernetes.io/managed-by": "lifeboat" },
        annotations: {
          "kubevirt.io/evacuationMigration": "node01",
          "lifeboat.dev/cause": "ApiEviction",
          "lifeboat.dev/evacuation-id": RECORD.id,
          "lifeboat.dev/attempt": "1",
        },
      },
      spec: { vmiName: "created" },
    });
    expect(await findMigration(slot.name)).not.toHaveProperty("spec.priority");
    expect(await migrationOf("created")).toMatchObject({ evacuates: "node01", evacuationId: RECORD.id, attempt: 1 });
  });

  test("Adopt: annotated, whoever made it; not if somebody else has adopted it", async () => {
    const key = { namespace: NAMESPACE, name: "theirs" };
    await world.client.create(kubevirt.migrations, { metadata: key, spec: { vmiName: "adopted" } });
    const migration = await migrationOf("adopted");
    const adopt: Action = { verb: "AdoptMigration", migration, cause: "Descheduler", id: "0000000a", attempt: 2 };
    expect([await act(adopt), await act({ ...adopt, id: "0000000b" })]).toEqual(["Done", "Conflict"]);
    expect(await migrationOf("adopted")).toMatchObject({ evacuationId: "0000000a", attempt: 2 });
  });

  test("Delete: that one only, and again", async () => {
    const key = { namespace: NAMESPACE, name: "deleted" };
    await world.client.create(kubevirt.migrations, { metadata: key, spec: { vmiName: "deleted" } });
    const migration = await migrationOf("deleted");
    expect(await act({ verb: "DeleteMigration", migration: { ...migration, uid: "another" } })).toBe("Conflict");
    expect(await findMigration("deleted")).toBeDefined();
    expect(await act({ verb: "DeleteMigration", migration })).toBe("Done");
    expect(await findMigration("deleted")).toBeUndefined();
    expect(await act({ verb: "DeleteMigration", migration })).toBe("Done");
  });

  // prettier-ignore
  test.each([
    ["somebody was faster",   status(400, "BadRequest", "admission webhook denied the request: in-flight migration detected. Active migration job"), "Conflict"],
    ["never",                 status(400, "BadRequest", "admission webhook denied the request: Cannot migrate VMI, Reason: DisksNotLiveMigratable"), "Refused"],
    ["an invalid field",      status(422, "Invalid", "spec.priority: forbidden"),                                                                 "Refused"],
    ["the name is taken",     status(409, "AlreadyExists"),                                                                                       "Done"],
  ])("Create, and KubeVirt's admission says: %s", async (_, other, result) => {
    const server = await startCannedCluster({ other });
    const slot = slotFor({ vmi: vmiFixture(), record: RECORD });
    expect(await connectTo({ server: server.url, token: "t" }).act({ verb: "CreateMigration", slot }, { kubevirtNamespace: "kubevirt", marking: "Impersonate" })).toBe(result);
    await server.stop();
  });
});

describe("on budgets", () => {
  test("Create, and again: one, owned by the VMI but not controlled", async () => {
    const vmi = await observed("budgeted");
    const action: Action = { verb: "CreateBudget", vmi, name: "budget-1", minAvailable: 1 };
    expect([await act(action), await act(action)]).toEqual(["Done", "Done"]);
    const found = await world.client.get(core.podDisruptionBudgets, { namespace: NAMESPACE, name: "budget-1" });
    expect(found).toMatchObject({
      metadata: { labels: { "app.kubernetes.io/managed-by": "lifeboat" } },
      spec: { minAvailable: 1, selector: { matchLabels: { "kubevirt.io/created-by": vmi.uid } } },
    });
    const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "budgeted", uid: vmi.uid };
    expect(found?.metadata.ownerReferences).toEqual([owner]);
  });

  test("Grow: whatever its size, and again; of ours only", async () => {
    const vmi = await observed("grown");
    const grow = (name: string): Action => ({ verb: "GrowBudget", vmi, name, grownFor: "0000000a.1", required: true });
    await act({ verb: "CreateBudget", vmi, name: "budget-4", minAvailable: 1 });
    expect([await act(grow("budget-4")), await act(grow("budget-4"))]).toEqual(["Done", "Done"]);
    expect(await budgetCalled("budget-4")).toMatchObject({ minAvailable: 2, generation: 2, grownFor: "0000000a.1" });
    const metadata = { namespace: NAMESPACE, name: "theirs" };
    const selector = { matchLabels: { app: "theirs" } };
    await world.client.create(core.podDisruptionBudgets, { metadata, spec: { minAvailable: 1, selector } });
    expect([await act(grow("theirs")), await act(grow("nobodys"))]).toEqual(["Done", "Conflict"]);
    expect((await budgetCalled("theirs")).minAvailable).toBe(1);
  });

  test("Resize: once, from what was observed", async () => {
    await act({ verb: "CreateBudget", vmi: await observed("resized"), name: "budget-2", minAvailable: 1 });
    const budget = await budgetCalled("budget-2");
    const action: Action = { verb: "ResizeBudget", budget, minAvailable: 2 };
    expect([await act(action), await act(action)]).toEqual(["Done", "Conflict"]);
    expect((await budgetCalled("budget-2")).minAvailable).toBe(2);
  });

  test("Delete: that one only, and again", async () => {
    await act({ verb: "CreateBudget", vmi: await observed("unbudgeted"), name: "budget-3", minAvailable: 1 });
    const budget = await budgetCalled("budget-3");
    expect(await act({ verb: "DeleteBudget", budget: { ...budget, uid: "another" } })).toBe("Conflict");
    const twice = [await act({ verb: "DeleteBudget", budget }), await act({ verb: "DeleteBudget", budget })];
    expect(twice).toEqual(["Done", "Done"]);
  });
});

test("WriteSlots: who writes on what somebody else has written loses", async () => {
  const slot = slotFor({ vmi: vmiFixture(), record: RECORD });
  expect(await cluster.getSlots()).toEqual({ slots: [] });
  expect(await act({ verb: "WriteSlots", slots: [slot] })).toBe("Done");
  expect(await act({ verb: "WriteSlots", slots: [] })).toBe("Conflict");
  const { resourceVersion = "", slots } = await cluster.getSlots();
  expect(slots).toEqual([slot]);
  expect(await act({ verb: "WriteSlots", slots: [], resourceVersion })).toBe("Done");
  expect(await act({ verb: "WriteSlots", slots: [slot], resourceVersion })).toBe("Conflict");
  expect((await cluster.getSlots()).slots).toEqual([]);
});

test("Event: told once for each occasion, however long the name", async () => {
  const name = "n".repeat(250);
  const about = { kind: "VirtualMachineInstance", namespace: NAMESPACE, name, uid: "u" } as const;
  const event = {
    verb: "Event",
    about,
    type: "Warning",
    reason: "MigrationFailed",
    message: "m".repeat(2000),
  } as const;
  for (const occasion of ["1", "2", "1"]) expect(await act({ ...event, occasion })).toBe("Done");
  const { items } = await world.client.list(core.events, NAMESPACE);
  const told = items.filter(({ involvedObject }) => involvedObject.name === name);
  expect(told).toHaveLength(2);
  expect(told[0]).toMatchObject({
    type: "Warning",
    reason: "MigrationFailed",
    firstTimestamp: "2026-01-01T00:00:00Z",
    count: 1,
  });
  expect(told[0]?.message).toHaveLength(1024);
});

test("a mark that is not in the answer is an error, also when it cannot be taken back", async () => {
  let answers = 0;
  const server = await startCannedCluster({
    mark: (response, request) => (answers++ === 0 ? json(CANNED_VMI) : status(422, "Invalid"))(response, request),
  });
  const there = connectTo({ server: server.url, token: "t" });
  const vmi = present(await there.getVmi({ namespace: "apps", name: "web" }));
  await expect(there.act(mark(vmi), { kubevirtNamespace: "kubevirt", marking: "Impersonate" })).rejects.toThrow(
    'KubeVirt did not keep the mark on VMI "apps/web"',
  );
  expect(answers).toBe(2);
  await server.stop();
});
