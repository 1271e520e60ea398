/** The clock's door: a tick for every cluster, and a full reconcile for a caller who asks. */
import { describe, expect, test } from "vitest";
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { CANNED_VMI, type CannedAnswers, list, startCannedCluster as start } from "../../support/canned-cluster.ts";
import { asWebhook, type Doors, entry, NOW, openDoors } from "../../support/doors.ts";
import { VirtualClock } from "../../support/clock.ts";
import * as stub from "../../support/answers.ts";
import { failing, FakeCluster } from "../../support/fake-cluster.ts";
import { openDoorsOf } from "../../support/fake-doors.ts";
import { EXTERNAL } from "../../support/fixtures.ts";
import { putVm } from "./support/fleets.ts";

const FULL = tickTime("prod", "full", NOW);
const SMALL = tickTime("prod", "small", NOW);
const MARKED = { evacuationNodeName: "node01" };

const reconcile = (doors: Doors, cluster = "prod") =>
  doors.request(`/clusters/${cluster}/reconcile`, { method: "POST", headers: asWebhook });

/** Two VMs that are to move, one of them marked, and one that is not. */
function withVms(): FakeCluster {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Always", evacuation: { adoptSeconds: 0 } });
  putVm(fake, "web");
  putVm(fake, "batch", { evictionStrategy: "None" });
  putVm(fake, "marked", { ...EXTERNAL, ...MARKED });
  return fake;
}

describe("a cluster with VMs", () => {
  const fake = withVms();
  const doors = openDoorsOf(fake);
  const owners = () => fake.budgets.list().map((budget) => budget.owners[0]?.name ?? "");
  const found = () => fake.evacuations.list().map(({ spec, status }) => [spec.vmiName, status.phase]);
  const end = (name: string) => fake.change({ namespace: "apps", name }, { phase: "Succeeded" });

  test("where budgets are wanted and there is none, every tick is a full scan", async () => {
    await doors.tick(SMALL);
    expect(new Set(owners())).toEqual(new Set(["marked", "web"]));
    expect(found()).toEqual([["marked", "WaitingForExternalController"]]);
  });

  test("a small tick looks at what has not ended, and at nothing else", async () => {
    putVm(fake, "late");
    putVm(fake, "later", MARKED);
    end("marked");
    await doors.tick(SMALL);
    // The VMI owns the other one: it goes with it.
    expect(owners()).toEqual(["marked", "web"]);
    expect(found()).toEqual([["marked", "Gone"]]);
  });

  test("a full one finds the rest, and moves on what it begins", async () => {
    await doors.tick(FULL);
    expect(new Set(owners())).toEqual(new Set(["late", "later", "web"]));
    expect(found()).toEqual(expect.arrayContaining([["later", "Pending"]]));
    expect(fake.migrations.list().map(({ vmiName }) => vmiName)).toEqual(["later"]);
  });

  test("a full scan that is asked for answers with what was done; a second one has nothing left to do", async () => {
    putVm(fake, "asked");
    end("later");
    expect(await reconcile(doors)).toMatchObject({ code: 200, body: { done: { CreateBudget: 1 }, failures: 0 } });
    await doors.settle();
    const settled = await reconcile(doors);
    await doors.settle();
    expect(settled.body).toEqual({ done: {}, failures: 0 });
  });

  test("what cannot be done is counted, and does not keep the rest from being done", async () => {
    putVm(fake, "alone");
    putVm(fake, "broken", { ...EXTERNAL, ...MARKED });
    const broken = openDoorsOf(fake, failing(/^create evacuations$/));
    expect((await reconcile(broken)).body).toMatchObject({ done: { CreateBudget: 2 }, failures: 1 });
    const failures = [{ times: 1, doing: "reconciling: beginnings", failure: { reason: "Unreachable" } }];
    const line = { cluster: "prod", level: "error", doing: "reconciling", failures, left: 0 };
    expect(broken.log).toContainEqual(line);
    await broken.settle();
  });
});

describe("a full scan of a hundred VMs", () => {
  const VMS = 100;
  function large(): FakeCluster {
    const fake = new FakeCluster();
    fake.configure({ disruptionBudgets: "Always" });
    for (let i = 0; i < VMS; i++) putVm(fake, `vm-${i}`);
    return fake;
  }

  test("that takes longer than it may answers 202 with what is left until it is done, and logs a line each time", async () => {
    const doors: Doors = openDoorsOf(large(), (label) => {
      if (label === "create poddisruptionbudgets") doors.pass(1);
    });
    const bodies: unknown[] = [];
    let answer = await reconcile(doors);
    for (; answer.code === 202; answer = await reconcile(doors)) bodies.push(answer.body);
    await doors.settle();
    // In 48 of its 60 seconds something is begun; four at a time.
    expect(bodies).toEqual([
      { done: { CreateBudget: 48 }, failures: 0, left: 52, requeueAfterSeconds: 1 },
      { done: { CreateBudget: 48 }, failures: 0, left: 4, requeueAfterSeconds: 1 },
    ]);
    expect(answer).toMatchObject({ code: 200, body: { done: { CreateBudget: VMS - 2 * 48 }, failures: 0 } });
    const lines = doors.log.filter(({ doing }) => doing === "reconciling");
    expect(lines.map(({ left }) => left)).toEqual([52, 4]);
  });
});

/** With one VMI, whose budget is missing. */
const UNBUDGETED: CannedAnswers = {
  list: (request, signal) => {
    const items = request.path.endsWith("/virtualmachineinstances") ? [CANNED_VMI] : [];
    return list(...items)(request, signal);
  },
};

function budgeted({ requests }: stub.Stub): boolean {
  return requests.some(({ method, path }) => method === "POST" && path.endsWith("/poddisruptionbudgets"));
}

describe("one failing cluster never touches another", () => {
  // prettier-ignore
  test.each<[string, stub.Behaviour]>([
    ["dead",                stub.hangingUp],
    ["lists without end",   list({ odd: true })],
  ])("in a full tick: %s", async (_, behaviour) => {
    const healthy = start(UNBUDGETED);
    const sick = start(behaviour);
    const doors = openDoors({ CLUSTERS: { sick: entry(sick.url), healthy: entry(healthy.url) } });
    await doors.tick(FULL);
    expect(budgeted(healthy)).toBe(true);
    expect(doors.log.filter(({ cluster }) => cluster === "healthy")).toEqual([]);
    expect(doors.log.filter(({ cluster }) => cluster === "sick")).not.toEqual([]);
  });

  test("in a full tick: one that answers slowly is not waited for by the others", async () => {
    const slow = start(stub.neverAnswering);
    const healthy = start(UNBUDGETED);
    const clock = new VirtualClock(NOW);
    const CLUSTERS = { slow: entry(slow.url), healthy: entry(healthy.url) };
    const seen: boolean[] = [];
    const doors = openDoors({ CLUSTERS }, undefined, {
      ...clock.platform,
      log: ({ cluster }) => void (cluster === "slow" && seen.push(budgeted(healthy))),
    });
    await clock.outcome(doors.tick(FULL));
    expect(seen).toContain(true);
    expect(seen).not.toContain(false);
  });
});
