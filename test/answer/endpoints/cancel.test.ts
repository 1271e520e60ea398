/** Cancelling, by the command or on the page. */
import { beforeEach, describe, expect, test } from "vitest";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { evacuation, marked, migration, newborn, NODE, node, NOW, pod, vmi } from "../../support/fixtures.ts";
import { openFakeDoors } from "../../support/fake-doors.ts";
import { evictionOf } from "../../support/reviews.ts";

const WEB = { namespace: "apps", name: "web" };
const NOT_EVACUATING = { result: "NotEvacuating" };

let fake: FakeCluster;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never", evacuation: { adoptSeconds: 3600 } });
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

describe("a cancel", () => {
  test("clears the mark, deletes the pending migration, starts the back-off, and says so", async () => {
    fake.isReviewing = false;
    fake.migrations.put(FOR_THE_MARK);
    expect(await cancel()).toMatchObject({ result: "Withdrawn", evacuations: [{ name: evacuation().name }] });
    expect(markOf()).toBeUndefined();
    expect(fake.migrations.list()).toEqual([]);
    const nextAttemptTime = new Date(NOW.getTime() + 20_000).toISOString();
    expect(found()).toMatchObject([{ ...WITHDRAWN, status: { ...WITHDRAWN.status, nextAttemptTime } }]);
    expect(fake.story.map(({ reason }) => reason)).toContain("EvacuationCancelled");
    const again = await openFakeDoors(fake).evict(evictionOf(pod()));
    expect(again.text).toContain('VMI \\"apps/web\\" was withdrawn; Lifeboat starts no new one for 20 s');
    expect(await cancel()).toMatchObject(NOT_EVACUATING);
  });

  test("of a mark that another party has set: it becomes an Evacuation, which is withdrawn; the label goes, too", async () => {
    fake.evacuations.delete(evacuation());
    fake.change(WEB, { evacuationLabel: "urgent" });
    expect(await cancel()).toMatchObject({ result: "Withdrawn", evacuations: [{}] });
    expect(markOf()).toBeUndefined();
    expect(fake.vmis.get(WEB)).not.toHaveProperty("evacuationLabel");
    expect(found()).toMatchObject([WITHDRAWN]);
  });

  test("withdraws every Evacuation of the VMI, a person's too", async () => {
    fake.evacuations.put(newborn({ name: "by-hand", uid: "by-hand", createdAt: NOW.getTime() }));
    const evacuations = expect.arrayContaining([expect.objectContaining({ name: "by-hand" })]);
    expect(await cancel()).toMatchObject({ evacuations });
    expect(found().map(({ spec }) => spec.intent)).toEqual(["Withdrawn", "Withdrawn"]);
    expect(markOf()).toBeUndefined();
    expect(await cancel()).toMatchObject(NOT_EVACUATING);
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
    expect(await cancel()).toEqual({ result: "DrainTaint", node: NODE });
    expect(found()).toMatchObject([{ spec: { intent: "Evacuate" } }]);
    expect(markOf()).toBe(NODE);
    fake.nodes.put(node());
    expect(await cancel()).toMatchObject({ result: "Withdrawn" });
  });
});
