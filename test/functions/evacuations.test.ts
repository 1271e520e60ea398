/** The list of evacuations, and cancelling one. */
import { beforeEach, describe, expect, test } from "vitest";
import { failing, FORBIDDEN } from "../fake-cluster/connect.ts";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import { evacuation, marked, migration, newborn, NODE, node, NOW, pod, vmi } from "../policy/fixtures.ts";
import { CANNED_EVACUATION, list } from "./support/canned-cluster.ts";
import { openCanned } from "./support/canned-doors.ts";
import { asOperator } from "./support/doors.ts";
import { openFakeDoors } from "./support/fake-doors.ts";
import { evictionOf } from "./support/reviews.ts";

const WEB = { namespace: "apps", name: "web" };
const NOT_EVACUATING = {
  code: 404,
  body: { error: { reason: "NotEvacuating", field: "name", message: "no evacuation of this VMI is under way" } },
};

let fake: FakeCluster;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ reconcilers: { budget: "Disabled" }, evacuation: { adoptSeconds: 3600 } });
  fake.nodes.put(node());
  fake.pods.put(pod());
  fake.vmis.put(marked());
  fake.evacuations.put(evacuation());
});

const cancel = (before?: Parameters<typeof openFakeDoors>[1]) => openFakeDoors(fake, before).cancel(WEB);
const found = () => fake.evacuations.list();
const markOf = () => fake.vmis.get(WEB)?.evacuationNodeName;
const WITHDRAWN = { spec: { intent: "Withdrawn" }, status: { phase: "Withdrawn", reason: "IntentWithdrawn" } };
const FOR_THE_MARK = migration({ phase: "Pending", evacuates: NODE });

test("the list has every Evacuation that has not ended, and where it stands", async () => {
  const status = { phase: "Pending", sourceNode: NODE };
  const [server, doors] = await openCanned({ evacuations: list({ ...CANNED_EVACUATION, status }) });
  const { metadata, spec } = CANNED_EVACUATION;
  expect(await doors.request("/clusters/prod/evacuations", { headers: asOperator })).toMatchObject({
    code: 200,
    body: {
      evacuations: [{ namespace: "apps", name: metadata.name, spec: { vmiName: "web", cause: spec.cause }, status }],
    },
  });
  // Which those are is for the API server to select.
  expect(server.requests[0]?.query.get("fieldSelector")).toMatch(/^status\.phase!=Moved,/);
});

describe("a cancel", () => {
  test("clears the mark, deletes the pending migration, starts the back-off, and says so", async () => {
    fake.migrations.put(FOR_THE_MARK);
    expect(await cancel()).toMatchObject({ code: 200, body: { cancelled: WEB, evacuations: [evacuation().name] } });
    expect(markOf()).toBeUndefined();
    expect(fake.migrations.list()).toEqual([]);
    const nextAttemptTime = new Date(NOW.getTime() + 20_000).toISOString();
    expect(found()).toMatchObject([{ ...WITHDRAWN, status: { ...WITHDRAWN.status, nextAttemptTime } }]);
    expect(fake.story.map(({ reason }) => reason)).toContain("EvacuationCancelled");
    const again = await openFakeDoors(fake).evict(evictionOf(pod()));
    expect(again.text).toContain('VMI \\"apps/web\\" was withdrawn; Lifeboat begins no new one for 20 s');
    expect(await cancel()).toMatchObject(NOT_EVACUATING);
  });

  // prettier-ignore
  test.each([
    ["that moves the guest, to its end",  { ...FOR_THE_MARK, phase: "Running" }],
    ["that has nothing to do with it",    migration({ phase: "Pending" })],
  ])("leaves a migration %s", async (_, left) => {
    fake.migrations.put(left);
    expect(await cancel()).toMatchObject({ code: 200 });
    expect(fake.migrations.list()).toHaveLength(1);
    expect(markOf()).toBeUndefined();
  });

  test("of a mark that another party has set: it becomes an Evacuation, which is withdrawn; the label goes, too", async () => {
    fake.evacuations.delete(evacuation());
    fake.change(WEB, { evacuationLabel: "urgent" });
    expect(await cancel()).toMatchObject({ code: 200, body: { evacuations: [expect.any(String)] } });
    expect(markOf()).toBeUndefined();
    expect(fake.vmis.get(WEB)).not.toHaveProperty("evacuationLabel");
    expect(found()).toMatchObject([WITHDRAWN]);
  });

  test("withdraws every Evacuation of the VMI, a person's too", async () => {
    fake.evacuations.put(newborn({ name: "by-hand", uid: "by-hand", createdAt: NOW.getTime() }));
    expect(await cancel()).toMatchObject({ body: { evacuations: expect.arrayContaining(["by-hand"]) } });
    expect(found().map(({ spec }) => spec.intent)).toEqual(["Withdrawn", "Withdrawn"]);
    expect(markOf()).toBeUndefined();
    expect(await cancel()).toMatchObject(NOT_EVACUATING);
  });

  test("that was done halfway is done to its end by the next look", async () => {
    fake.migrations.put(FOR_THE_MARK);
    expect(await cancel(failing(/^DeleteMigration$/))).toMatchObject({ code: 200 });
    const isReleased = () => found()[0]?.status.conditions.find(({ type }) => type === "Released")?.status;
    expect(found()).toMatchObject([WITHDRAWN]);
    expect(isReleased()).toBe("False");
    await openFakeDoors(fake).reconcile();
    expect(fake.migrations.list()).toEqual([]);
    expect(found()).toMatchObject([WITHDRAWN]);
    expect(isReleased()).toBe("True");
  });

  test("of nothing", async () => {
    fake.evacuations.delete(evacuation());
    fake.vmis.put(vmi());
    expect(await cancel()).toMatchObject(NOT_EVACUATING);
    fake.vmis.delete(WEB);
    expect(await cancel()).toMatchObject(NOT_EVACUATING);
  });

  test("is refused under the drain taint, which would begin the evacuation again", async () => {
    fake.nodes.put(node({ taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] }));
    const message = 'node "node01" carries the drain taint kubevirt.io/drain: remove that first';
    expect(await cancel()).toMatchObject({ code: 409, body: { error: { reason: "DrainTaint", message } } });
    expect(found()).toMatchObject([{ spec: { intent: "Evacuate" } }]);
    expect(markOf()).toBe(NODE);
    fake.nodes.put(node());
    expect(await cancel()).toMatchObject({ code: 200 });
  });

  test("whose Event cannot be told is a cancel", async () => {
    expect(await cancel(failing(/^Event$/, FORBIDDEN))).toMatchObject({ code: 200 });
    expect(found()).toMatchObject([WITHDRAWN]);
  });
});
