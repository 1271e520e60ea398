/** Budgets where something is in the way: of another size, of a VM that no longer migrates, unread, of a VM that is not understood. */
import { beforeEach, expect, test } from "vitest";
import { budgetName } from "../../../shared/budget/budget.ts";
import { failure } from "../../support/fake-api.ts";
import { type Before, failing, FakeCluster, once } from "../../support/fake-cluster.ts";
import { openFakeDoors } from "../../support/fake-doors.ts";
import { budget, marked, migration, owner, PINNED, pod, POD_NAME, vmi } from "../../support/fixtures.ts";
import { evictionOf } from "../../support/reviews.ts";

const IF_POSSIBLE = { evictionStrategy: "LiveMigrateIfPossible", ...PINNED };

let fake: FakeCluster;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Always", evacuation: { adoptSeconds: 0 } });
  fake.pods.put(pod());
});

const sizes = () => fake.budgets.list().map(({ minAvailable }) => minAvailable);

function forbidding(request: string): Before {
  return (label) => (label === request ? Response.json(failure(403, "Forbidden").body, { status: 403 }) : undefined);
}

async function scan(before?: Before) {
  const doors = openFakeDoors(fake, before);
  await doors.reconcile();
  await doors.settle();
}

test("one of another size stays until it is right, and the VM does not migrate before", async () => {
  fake.vmis.put(marked());
  fake.budgets.put(budget({ minAvailable: 1 }));
  await scan(failing(/^(create|patch) poddisruptionbudgets$/));
  expect([sizes(), fake.migrations.list().length]).toEqual([[1], 0]);
  await scan();
  expect([sizes(), fake.migrations.list().length]).toEqual([[2], 1]);
  expect(fake.budgets.list()).toMatchObject([{ uid: "budget-uid" }]);
});

test("where it must not be changed, the VM migrates all the same", async () => {
  fake.vmis.put(marked());
  fake.budgets.put(budget({ minAvailable: 1 }));
  await scan(forbidding("patch poddisruptionbudgets"));
  expect([sizes(), fake.migrations.list().length]).toEqual([[1], 1]);
});

test.each(["Pending", "Scheduling"])(
  "a VM that cannot migrate again keeps it while its migration is %s",
  async (phase) => {
    fake.vmis.put(marked(IF_POSSIBLE));
    fake.migrations.put(migration({ phase }));
    const doors = openFakeDoors(fake);
    await doors.evict(evictionOf({ namespace: "apps", name: POD_NAME }));
    await doors.settle();
    expect([sizes(), fake.evacuations.list()]).toMatchObject([[2], [{ status: { phase: "Migrating" } }]]);
    await scan();
    expect(sizes()).toEqual([2]);
  },
);

test("without the permission to read one, VMs are evacuated all the same", async () => {
  fake.vmis.put(marked());
  await scan(forbidding("get poddisruptionbudgets"));
  expect([sizes(), fake.migrations.list().length]).toEqual([[2], 1]);
});

test("that of a VM that is not understood stays", async () => {
  fake.budgets.put(budget());
  const metadata = { namespace: "apps", name: "web", uid: vmi().uid, resourceVersion: "1" };
  fake.api.put("virtualmachineinstances", { kind: "VirtualMachineInstance", metadata, status: { phase: 1 } });
  fake.vmis.put(vmi({ name: "db", uid: "db" }));
  await scan();
  expect(sizes()).toEqual([2, 2]);
});

test("of a VM that began while the scan had read the VMs already, it stays", async () => {
  const begun = vmi({ name: "late", uid: "late-uid" });
  fake.vmis.put(vmi());
  const begin = () => {
    fake.vmis.put(begun);
    fake.budgets.put(budget({ name: budgetName(begun), uid: "late-budget", owners: [owner({ uid: begun.uid })] }));
  };
  await scan(once(/^list poddisruptionbudgets/, begin));
  expect(fake.budgets.list().map(({ uid }) => uid)).toContain("late-budget");
});
