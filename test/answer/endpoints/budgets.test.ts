/** Tests PodDisruptionBudgets with unusual sizes or owners, and budgets that Lifeboat cannot read. */
import { beforeEach, expect, test } from "vitest";
import { budgetName } from "../../../shared/budget/budget.ts";
import { failure } from "../../support/cluster/api.ts";
import { type Before, failing, FakeCluster, once } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { budget, marked, migration, owner, PINNED, pod, vmi } from "../../support/fixtures.ts";
import { allowance, evictionOf, refusal } from "../../support/reviews.ts";

const IF_POSSIBLE = { evictionStrategy: "LiveMigrateIfPossible", ...PINNED };
const TRIGGERED = refusal('Eviction triggered evacuation of VMI "apps/web"');
const AGAIN = refusal(expect.stringContaining("try again: the API server cannot be reached"));

let fake: FakeCluster;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Always", evacuation: { adoptSeconds: 0 } });
  fake.pods.put(pod());
});

function forbidding(request: string): Before {
  return (label) => (label === request ? Response.json(failure(403, "Forbidden").body, { status: 403 }) : undefined);
}

const sizes = () => fake.budgets.list().map(({ minAvailable }) => minAvailable);

async function scan(before?: Before) {
  const app = openApp(fake, before);
  await app.reconcile();
  await app.settle();
}

async function evict(before?: Before) {
  const app = openApp(fake, before);
  const { body } = await app.evict(evictionOf(pod()));
  await app.settle();
  return body;
}

test("an eviction waits for the VM's budget, unless Lifeboat may not create it", async () => {
  fake.isReviewing = false;
  fake.vmis.put(vmi());
  expect(await evict(failing(/^create poddisruptionbudgets$/))).toEqual(AGAIN);
  expect(await evict(forbidding("create poddisruptionbudgets"))).toEqual(TRIGGERED);
  expect(sizes()).toEqual([]);
});

test("a VM whose budget has another size migrates after its budget is repaired", async () => {
  fake.vmis.put(marked());
  fake.budgets.put(budget({ minAvailable: 1 }));
  await scan(failing(/^(create|patch) poddisruptionbudgets$/));
  expect([sizes(), fake.migrations.list().length]).toEqual([[1], 0]);
  await scan();
  expect([sizes(), fake.migrations.list().length]).toEqual([[2], 1]);
  expect(fake.budgets.list()).toMatchObject([{ uid: "budget-uid" }]);
});

test.each([
  ["changed", budget({ minAvailable: 1 }), "patch poddisruptionbudgets", [1]],
  ["read", undefined, "get poddisruptionbudgets", [2]],
])("a VM migrates although its budget may not be %s", async (...[, found, request, expected]) => {
  fake.vmis.put(marked());
  if (found) fake.budgets.put(found);
  await scan(forbidding(request));
  expect([sizes(), fake.migrations.list().length]).toEqual([expected, 1]);
});

test("a VM that can no longer migrate keeps its budget while a migration is pending", async () => {
  fake.vmis.put(marked(IF_POSSIBLE));
  fake.migrations.put(migration({ phase: "Pending" }));
  await evict();
  await scan();
  expect([sizes(), fake.evacuations.list()]).toMatchObject([[2], [{ status: { phase: "Migrating" } }]]);
});

test("a VM that may be evicted loses its budget, which would refuse the eviction", async () => {
  fake.vmis.put(vmi(IF_POSSIBLE));
  fake.budgets.put(budget());
  expect(await evict()).toMatchObject(allowance());
  expect(sizes()).toEqual([]);
});

test("a VM that cannot be parsed keeps its budget", async () => {
  fake.budgets.put(budget());
  const metadata = { namespace: "apps", name: "web", uid: vmi().uid, resourceVersion: "1" };
  fake.api.put("virtualmachineinstances", { kind: "VirtualMachineInstance", metadata, status: { phase: 1 } });
  fake.vmis.put(vmi({ name: "db", uid: "db" }));
  await scan();
  expect(sizes()).toEqual([2, 2]);
});

test("a VM that starts after a scan has listed VMs keeps its budget", async () => {
  const started = vmi({ name: "late", uid: "late-uid" });
  fake.vmis.put(vmi());
  const begin = () => {
    fake.vmis.put(started);
    fake.budgets.put(budget({ name: budgetName(started), uid: "late-budget", owners: [owner({ uid: started.uid })] }));
  };
  await scan(once(/^list poddisruptionbudgets/, begin));
  expect(fake.budgets.list().map(({ uid }) => uid)).toContain("late-budget");
});
