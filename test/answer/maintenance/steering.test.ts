/**
 * Tests the taint on nodes that wait for their turn in a RollingMaintenance. The taint is set at the start, and removed
 * at each node's turn. Other taints are not changed.
 */
import { expect, test } from "vitest";
import { reconcileWithin } from "../../../functions/reconcile.ts";
import { PENDING_TAINT } from "../../../shared/kube/names.ts";
import { reconcileActive, reconcileAll } from "../../../shared/reconcile/reconcile.ts";
import { type App, openApp } from "../../support/app.ts";
import type { RequestInfo } from "../../support/cluster/request-info.ts";
import type { FakeCluster } from "../../support/cluster.ts";
import { asJson, at, type Json } from "../../support/json.ts";
import {
  change,
  inService,
  migrateMarked,
  NAMES,
  rollingOf,
  takeBack,
  weekend,
} from "../../support/maintenance/weekend.ts";

const GPU = { key: "gpu", value: "a", effect: "NoSchedule" };
const OTHER = { key: "other", effect: "NoSchedule" };
const STEERING = { steering: "AwayFromPending" };
const LAST_TWO = ["node-2", "node-3"];

const taintsOf = (fake: FakeCluster, name: string): Json =>
  at(fake.api.object("nodes", { name }), "spec", "taints") ?? [];
const avoided = (fake: FakeCluster) =>
  NAMES.filter((name) => JSON.stringify(taintsOf(fake, name)).includes(PENDING_TAINT.key));

async function step(fake: FakeCluster, app: App, work: typeof reconcileAll = reconcileActive) {
  const result = await reconcileWithin(app.target, 20, work);
  migrateMarked(fake);
  app.pass(31);
  return result;
}

/** Starts a RollingMaintenance. node-3 has another taint. */
function startedOn(spec: object = STEERING): FakeCluster {
  const fake = weekend(spec);
  fake.nodes.put({ ...inService("node-3"), taints: [GPU] });
  return fake;
}

test("during a RollingMaintenance, nodes that wait for their turn have the taint, beside other taints", async () => {
  const fake = startedOn();
  const app = openApp(fake);
  await step(fake, app);
  expect(avoided(fake)).toEqual(LAST_TWO);
  expect(taintsOf(fake, "node-3")).toEqual(asJson([GPU, PENDING_TAINT]));
  const seen = new Set<string>();
  for (let i = 0; i < 20; i++) {
    await step(fake, app);
    seen.add(avoided(fake).join());
    takeBack(fake);
  }
  expect(rollingOf(fake).status.phase).toBe("Completed");
  expect([...seen]).toEqual(["node-2,node-3", "node-3", ""]);
});

test("without steering, no node is tainted", async () => {
  const fake = startedOn({});
  await step(fake, openApp(fake));
  expect([rollingOf(fake).status.phase, avoided(fake)]).toEqual(["Running", []]);
});

test.each<[string, object]>([
  ["a pause", { progress: "Paused" }],
  ["a withdrawal", { intent: "Withdrawn" }],
])("%s removes the taint, and no other", async (_, spec) => {
  const fake = startedOn();
  const app = openApp(fake);
  await step(fake, app);
  change(fake, spec);
  await step(fake, app);
  expect(avoided(fake)).toEqual([]);
  expect(taintsOf(fake, "node-3")).toEqual(asJson([GPU]));
});

test("a resume sets the taint again", async () => {
  const fake = startedOn();
  const app = openApp(fake);
  await step(fake, app);
  change(fake, { progress: "Paused" });
  await step(fake, app);
  change(fake, { progress: "Running" });
  await step(fake, app);
  expect(avoided(fake)).toEqual(LAST_TWO);
});

test.each<[string, spec: object | undefined]>([
  ["is deleted by force", undefined],
  ["no longer steers", { steering: "None" }],
])("a RollingMaintenance that %s leaves no taint", async (_, spec) => {
  const fake = startedOn();
  const app = openApp(fake);
  await step(fake, app);
  if (spec === undefined) fake.api.remove("rollingmaintenances", { name: "weekend" });
  else change(fake, spec);
  await step(fake, app, reconcileAll);
  expect(avoided(fake)).toEqual([]);
});

test("a taint that another party sets at the same time stays", async () => {
  const fake = startedOn();
  let isFirst = true;
  const app = openApp(fake, (_, request?: RequestInfo) => {
    if (request?.label !== "patch nodes" || request.name !== "node-3" || !isFirst) return undefined;
    isFirst = false;
    fake.nodes.put({ ...inService("node-3"), taints: [GPU, OTHER] });
    return undefined;
  });
  await step(fake, app);
  await step(fake, app, reconcileAll);
  expect(isFirst).toBe(false);
  expect(taintsOf(fake, "node-3")).toEqual(asJson([GPU, OTHER, PENDING_TAINT]));
});

test.each([403, 409, 422, 500])(
  "a change of a node answered %i does not stop the maintenance, and the next full scan repeats the change",
  async (code) => {
    const fake = startedOn();
    let isRefusing = true;
    const app = openApp(fake, (_, request?: RequestInfo) => {
      if (request?.label !== "patch nodes" || request.name !== "node-3" || !isRefusing) return undefined;
      return Response.json({ kind: "Status", code, message: "no" }, { status: code });
    });
    await step(fake, app);
    expect([rollingOf(fake).status.phase, avoided(fake)]).toEqual(["Running", ["node-2"]]);
    isRefusing = false;
    await step(fake, app, reconcileAll);
    expect(avoided(fake)).toEqual(LAST_TWO);
  },
);
