/** Tests how a person cancels an evacuation. The mark of a VM is the VMI's evacuationNodeName. */
import { beforeEach, expect, test } from "vitest";
import { FakeCluster } from "../../support/cluster.ts";
import { evacuation, marked, migration, newborn, NODE, node, NOW, pod, time, vmi } from "../../support/fixtures.ts";
import { openApp } from "../../support/app.ts";

const WEB = { namespace: "apps", name: "web" };

let fake: FakeCluster;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never", evacuation: { adoptSeconds: 3600 } });
  fake.nodes.put(node());
  fake.pods.put(pod());
  fake.vmis.put(marked());
  fake.evacuations.put(evacuation());
});

const cancel = () => openApp(fake).cancel(WEB);
const markOf = () => fake.vmis.get(WEB)?.evacuationNodeName;

test("a cancel withdraws every Evacuation of the VM, clears the mark, deletes the pending migration, and creates an Event", async () => {
  fake.evacuations.put(newborn({ name: "by-hand", uid: "by-hand", createdAt: NOW.getTime() }));
  fake.migrations.put(migration({ phase: "Pending", evacuates: NODE }));
  expect(await cancel()).toMatchObject({ result: "Withdrawn", evacuations: { length: 2 } });
  expect([markOf(), fake.migrations.list()]).toEqual([undefined, []]);
  const withdrawn = { spec: { intent: "Withdrawn" }, status: { phase: "Withdrawn", reason: "IntentWithdrawn" } };
  const [older] = fake.evacuations.list(({ name }) => name === evacuation().name);
  expect(older).toMatchObject({ ...withdrawn, status: { ...withdrawn.status, nextAttemptTime: time(20) } });
  expect(fake.evacuations.list().map(({ spec }) => spec.intent)).toEqual(["Withdrawn", "Withdrawn"]);
  expect(fake.recordedEvents.map(({ reason }) => reason)).toContain("EvacuationCancelled");
  expect(await cancel()).toMatchObject({ result: "NotEvacuating" });
});

test("a cancel turns another party's mark into an Evacuation, withdraws the Evacuation, and removes the label", async () => {
  fake.evacuations.delete(evacuation());
  fake.change(WEB, { evacuationLabel: "urgent" });
  expect(await cancel()).toMatchObject({ result: "Withdrawn", evacuations: [{}] });
  expect([markOf(), fake.vmis.get(WEB)?.evacuationLabel]).toEqual([undefined, undefined]);
  expect(fake.evacuations.list()).toMatchObject([{ status: { phase: "Withdrawn" } }]);
});

test("a cancel changes nothing if the VM is not being evacuated or does not exist", async () => {
  fake.evacuations.delete(evacuation());
  fake.vmis.put(vmi());
  expect(await cancel()).toMatchObject({ result: "NotEvacuating" });
  fake.vmis.delete(WEB);
  expect(await cancel()).toMatchObject({ result: "NotEvacuating" });
});

test("a cancel is refused under the drain taint, which would start the evacuation again", async () => {
  fake.nodes.put(node({ taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] }));
  expect(await cancel()).toEqual({ result: "DrainTaint", node: NODE });
  expect(fake.evacuations.list()).toMatchObject([{ spec: { intent: "Evacuate" } }]);
  expect(markOf()).toBe(NODE);
});
