/** What cannot be annotated is in no evacuation's way; what has ended stays so, however many look. */
import { beforeEach, expect, test } from "vitest";
import { type Before, failing, FORBIDDEN } from "../../support/fake-cluster/connect.ts";
import { FakeCluster } from "../../support/fake-cluster/fake-cluster.ts";
import { marked, pod } from "../../support/fixtures.ts";
import { openFakeDoors } from "../../support/fake-doors.ts";

const WEB = { namespace: "apps", name: "web" };

let fake: FakeCluster;
beforeEach(() => {
  fake = new FakeCluster();
  fake.pods.put(pod());
  fake.vmis.put(marked());
});

async function scan(before?: Before) {
  const doors = openFakeDoors(fake, before);
  const { body } = await doors.reconcile();
  await doors.settle();
  return { body, log: doors.log };
}

test("an evacuation ends once, however many look", async () => {
  await scan();
  fake.change(WEB, { phase: "Succeeded" });
  await Promise.all([scan(), scan(), scan()]);
  await scan();
  expect(fake.evacuations.list()).toMatchObject([{ status: { phase: "Gone" } }]);
});

test("without the permission to annotate: the failure is logged, and everything else is done", async () => {
  fake.configure({ featureGates: { DeschedulerSupport: true }, evacuation: { adoptSeconds: 0 } });
  const { body, log } = await scan(failing(/^AnnotatePod$/, FORBIDDEN));
  expect(body).toMatchObject({ done: { CreateEvacuation: 1 } });
  const failure: unknown = expect.objectContaining({ reason: "Refused", code: 403 });
  const failures = [expect.objectContaining({ doing: "reconciling: annotations", failure })];
  expect(log).toContainEqual(expect.objectContaining({ doing: "reconciling", failures }));
});
