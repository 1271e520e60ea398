/** What a look costs is what is under way, whatever else is in the cluster; and a tenant's budgets are that tenant's trouble. */
import { expect, test } from "vitest";
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { asWebhook, NOW } from "../../support/doors.ts";
import { type Before, FakeCluster } from "../../support/fake-cluster.ts";
import { openDoorsOf } from "../../support/fake-doors.ts";
import { migration, NODE } from "../../support/fixtures.ts";
import { putVm } from "./support/fleets.ts";

/** A minute that is not one for a full scan. */
const LIGHT = tickTime("prod", "small");
const RECONCILE = ["/clusters/prod/reconcile", { method: "POST", headers: asWebhook }] as const;

const itemsOf = (body: unknown): readonly unknown[] => Object(body).items ?? [body];

test("a tick reads what is under way: neither other VMs nor their finished migrations", async () => {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never", evacuation: { adoptSeconds: 604_800 } });
  let objects = 0;
  const count: Before = (_, asked) => {
    if (asked?.verb === "get" || asked?.verb === "list") objects += itemsOf(fake.api.answer(asked).body).length;
  };
  const doors = openDoorsOf(fake, count);
  const costOfTick = async () => {
    objects = 0;
    await doors.tick(LIGHT);
    return objects;
  };
  for (const name of ["a", "b", "c"]) putVm(fake, name, { evacuationNodeName: NODE });
  await doors.request(...RECONCILE);
  await doors.settle();
  expect(fake.evacuations.list()).toHaveLength(3);
  const before = await costOfTick();

  for (let i = 0; i < 60; i++) {
    putVm(fake, `vm-${i}`);
    fake.migrations.put(migration({ name: `m${i}`, uid: `m${i}`, vmiName: `vm-${i}`, phase: "Succeeded" }));
  }
  expect(await costOfTick()).toBe(before);
});

const LARGE = "x".repeat(250_000);

test("200 budgets of 250 KB in a tenant's namespace: every other VM gets what it is to get", async () => {
  const fake = new FakeCluster();
  const doors = openDoorsOf(fake);
  for (let i = 0; i < 200; i++) {
    // Labelled as if they were Lifeboat's: any others are not even listed.
    const labels = { "app.kubernetes.io/managed-by": "lifeboat" };
    const metadata = { namespace: "greedy", name: `large-${i}`, uid: `large-${i}`, resourceVersion: "1", labels };
    const selector = { matchLabels: { app: "none" } };
    const spec = { minAvailable: 1, selector };
    fake.api.put("poddisruptionbudgets", { metadata: { ...metadata, annotations: { note: LARGE } }, spec });
  }
  putVm(fake, "own", { namespace: "greedy" });
  putVm(fake, "new");
  await doors.request(...RECONCILE);
  await doors.settle();
  const budgets = fake.budgets.list(({ namespace }) => namespace === "apps");
  expect(budgets.map(({ owners }) => owners[0]?.name)).toEqual(["new"]);
  expect(doors.now()).toEqual(NOW);
});
