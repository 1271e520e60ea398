/** The schedule: a tick for every cluster, and a full reconcile for a caller who asks. */
import { describe, expect, test } from "vitest";
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { list, clusterWith } from "../../support/cluster/one-vm.ts";
import { type App, asWebhook, entry, openApp } from "../../support/app.ts";
import { VirtualClock } from "../../support/clock.ts";
import * as stub from "../../support/answers.ts";
import { failing, FakeCluster } from "../../support/cluster.ts";
import { EXTERNAL, NOW } from "../../support/fixtures.ts";
import { putVm } from "./support/fleets.ts";

const FULL = tickTime("prod", "full", NOW);
const SMALL = tickTime("prod", "small", NOW);
const MARKED = { evacuationNodeName: "node01" };

const reconcile = (app: App) => app.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });

test("ticks: all of it where budgets are missing, then what has not ended, and in a full scan the rest", async () => {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Always", evacuation: { adoptSeconds: 0 } });
  putVm(fake, "web");
  putVm(fake, "batch", { evictionStrategy: "None" });
  putVm(fake, "marked", { ...EXTERNAL, ...MARKED });
  const app = openApp(fake);
  const owners = () => new Set(fake.budgets.list().map((budget) => budget.owners[0]?.name ?? ""));
  const found = () => fake.evacuations.list().map(({ spec, status }) => [spec.vmiName, status.phase]);

  await app.tick(SMALL);
  expect(owners()).toEqual(new Set(["marked", "web"]));
  expect(found()).toEqual([["marked", "WaitingForExternalController"]]);

  putVm(fake, "late");
  putVm(fake, "later", MARKED);
  fake.change({ namespace: "apps", name: "marked" }, { phase: "Succeeded" });
  await app.tick(SMALL);
  // The VMI owns the other one: it goes with it.
  expect(owners()).toEqual(new Set(["marked", "web"]));
  expect(found()).toEqual([["marked", "Gone"]]);

  await app.tick(FULL);
  expect(owners()).toEqual(new Set(["late", "later", "web"]));
  expect(found()).toEqual(expect.arrayContaining([["later", "Pending"]]));
  expect(fake.migrations.list().map(({ vmiName }) => vmiName)).toEqual(["later"]);
});

function given(...names: readonly string[]): FakeCluster {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Always" });
  for (const name of names) putVm(fake, name);
  return fake;
}

describe("a full scan that is asked for", () => {
  test("says what was done and what failed, which keeps the rest from nothing; a later one has nothing left to do", async () => {
    const fake = given("alone");
    putVm(fake, "broken", { ...EXTERNAL, ...MARKED });
    const app = openApp(fake, failing(/^create evacuations$/));
    expect(await reconcile(app)).toMatchObject({ code: 200, body: { done: { CreateBudget: 2 }, failures: 1 } });
    const failures = [{ times: 1, doing: "reconciling: beginnings", failure: { reason: "Unreachable" } }];
    const line = { cluster: "prod", level: "error", doing: "reconciling", failures, left: 0 };
    expect(app.log).toContainEqual(line);
    await app.settle();
    await reconcile(openApp(fake));
    expect((await reconcile(openApp(fake))).body).toEqual({ done: {}, failures: 0 });
  });

  test("that takes longer than it may answers 202 with what is left until it is done, and logs a line each time", async () => {
    const fake = given(...Array.from({ length: 100 }, (_, i) => `vm-${i}`));
    const app: App = openApp(fake, (label) => {
      if (label === "create poddisruptionbudgets") app.pass(1);
    });
    const answers = [await reconcile(app), await reconcile(app), await reconcile(app)];
    await app.settle();
    // Lifeboat starts an action, four at a time, in 48 of its 60 seconds.
    expect(answers).toMatchObject([
      { code: 202, body: { done: { CreateBudget: 48 }, failures: 0, left: 52, requeueAfterSeconds: 1 } },
      { code: 202, body: { done: { CreateBudget: 48 }, failures: 0, left: 4, requeueAfterSeconds: 1 } },
      { code: 200, body: { done: { CreateBudget: 4 }, failures: 0 } },
    ]);
    const lines = app.log.filter(({ doing }) => doing === "reconciling");
    expect(lines.map(({ left }) => left)).toEqual([52, 4]);
  });
});

/** Its one VMI had no budget. */
function budgeted({ requests }: FakeCluster): boolean {
  return requests.some(({ method, path }) => method === "POST" && path.endsWith("/poddisruptionbudgets"));
}

// prettier-ignore
test.each<[string, stub.Behaviour]>([
  ["is dead",            stub.hangingUp],
  ["lists without end",  list({ odd: true })],
  ["never answers",      stub.neverAnswering],
])("given a cluster that %s, others have their full scan, and do not wait for it", async (_, behaviour) => {
  const [sick, healthy] = [clusterWith(behaviour), clusterWith()];
  const clock = new VirtualClock(NOW);
  /** For each line of the log, whether the other one was done by then. */
  const logged: [unknown, boolean][] = [];
  const log = ({ cluster }: Readonly<Record<string, unknown>>) => void logged.push([cluster, budgeted(healthy)]);
  const CLUSTERS = { sick: entry(sick.url), healthy: entry(healthy.url) };
  const app = openApp({ CLUSTERS }, undefined, { ...clock.platform, log });
  await clock.outcome(app.tick(FULL));
  expect(budgeted(healthy)).toBe(true);
  expect(new Set(logged.map(([cluster]) => cluster))).toEqual(new Set(["sick"]));
  if (behaviour === stub.neverAnswering) expect(logged.every(([, isDone]) => isDone)).toBe(true);
});
