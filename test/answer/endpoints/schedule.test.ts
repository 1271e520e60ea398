/** Tests that the schedule starts a run (tick) for every cluster, and that a request starts a full reconcile. */
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

test("the first tick creates missing budgets, later ticks handle active Evacuations, and a full scan the rest", async () => {
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
  // The VMI owns the remaining budget, so the garbage collector deletes the budget after the VMI.
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

describe("a requested full scan", () => {
  test("reports its actions and failures, a failure does not stop others, and the next scan does the rest", async () => {
    const fake = given("alone");
    putVm(fake, "broken", { ...EXTERNAL, ...MARKED });
    const app = openApp(fake, failing(/^create evacuations$/));
    expect(await reconcile(app)).toMatchObject({ code: 200, body: { done: { CreateBudget: 2 }, failures: 1 } });
    const failures = [{ times: 1, doing: "reconciling: new evacuations", failure: { reason: "Unreachable" } }];
    const line = { cluster: "prod", level: "error", doing: "reconciling", failures, left: 0 };
    expect(app.log).toContainEqual(line);
    await app.settle();
    await reconcile(openApp(fake));
    expect((await reconcile(openApp(fake))).body).toEqual({ done: {}, failures: 0 });
  });

  test("that exceeds its time answers 202 with the remaining number, and logs a line each time", async () => {
    const fake = given(...Array.from({ length: 100 }, (_, i) => `vm-${i}`));
    const app: App = openApp(fake, (label) => {
      if (label === "create poddisruptionbudgets") app.pass(1);
    });
    const answers = [await reconcile(app), await reconcile(app), await reconcile(app)];
    await app.settle();
    // A full scan has 60 seconds. Lifeboat starts actions during the first 48 seconds, four actions in parallel.
    expect(answers).toMatchObject([
      { code: 202, body: { done: { CreateBudget: 48 }, failures: 0, left: 52, requeueAfterSeconds: 1 } },
      { code: 202, body: { done: { CreateBudget: 48 }, failures: 0, left: 4, requeueAfterSeconds: 1 } },
      { code: 200, body: { done: { CreateBudget: 4 }, failures: 0 } },
    ]);
    const lines = app.log.filter(({ doing }) => doing === "reconciling");
    expect(lines.map(({ left }) => left)).toEqual([52, 4]);
  });
});

function budgeted({ requests }: FakeCluster): boolean {
  return requests.some(({ method, path }) => method === "POST" && path.endsWith("/poddisruptionbudgets"));
}

// prettier-ignore
test.each<[string, stub.Behaviour]>([
  ["is away",            stub.hangingUp],
  ["lists without end",  list({ odd: true })],
  ["never answers",      stub.neverAnswering],
])("while one cluster %s, the others have their full scan without a delay", async (_, behaviour) => {
  const [sick, healthy] = [clusterWith(behaviour), clusterWith()];
  const clock = new VirtualClock(NOW);
  const logged: [unknown, boolean][] = [];
  const log = ({ cluster }: Readonly<Record<string, unknown>>) => void logged.push([cluster, budgeted(healthy)]);
  const CLUSTERS = { sick: entry(sick.url), healthy: entry(healthy.url) };
  const app = openApp({ CLUSTERS }, undefined, { ...clock.platform, log });
  await clock.outcome(app.tick(FULL));
  expect(budgeted(healthy)).toBe(true);
  expect(new Set(logged.map(([cluster]) => cluster))).toEqual(new Set(["sick"]));
  if (behaviour === stub.neverAnswering) expect(logged.every(([, isDone]) => isDone)).toBe(true);
});
