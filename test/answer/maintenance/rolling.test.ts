/** Tests a RollingMaintenance of a whole cluster, with crashes of processes, pauses, and several processes at once. */
import { expect, test } from "vitest";
import type { RequestInfo } from "../../support/cluster/request-info.ts";
import type { FakeCluster } from "../../support/cluster.ts";
import { type App, openApp } from "../../support/app.ts";
import { at as later, time } from "../../support/fixtures.ts";
import { at, textOf } from "../../support/json.ts";
import {
  change,
  cordoned,
  evacuationsOf,
  inService,
  migrateMarked,
  NAMES,
  phasesOf,
  rollingOf,
  takeBack,
  weekend,
} from "../../support/maintenance/weekend.ts";

interface Stage {
  readonly fake: FakeCluster;
  readonly apps: readonly App[];
  most: number;
}

async function ticks(stage: Stage, times: number, isTakenBack = true): Promise<void> {
  for (let i = 0; i < times; i++) {
    await Promise.all(stage.apps.map((app) => app.reconcile()));
    for (const app of stage.apps) await app.settle();
    stage.most = Math.max(stage.most, cordoned(stage.fake).length);
    migrateMarked(stage.fake);
    if (isTakenBack) takeBack(stage.fake);
    for (const app of stage.apps) app.pass(31);
  }
}

function stageOf(spec: object = {}, processes = 1): Stage {
  const fake = weekend(spec);
  return { fake, apps: Array.from({ length: processes }, () => openApp(fake)), most: 0 };
}

const LONG = 20;

test.each([1, 3])("with %i processes, each node is evacuated once, one after another", async (processes) => {
  const stage = stageOf({}, processes);
  await ticks(stage, LONG);
  expect(rollingOf(stage.fake).status).toMatchObject({
    phase: "Completed",
    message: "nodes evacuated: 3 of 3",
    nodeCounts: { total: 3, evacuated: 3, failed: 0, pending: 0, active: 0 },
  });
  expect(stage.most).toBe(1);
  const parts = evacuationsOf(stage.fake);
  expect(parts.map(({ spec, status }) => [spec.nodeName, status.phase])).toEqual(
    NAMES.map((name) => [name, "Evacuated"]),
  );
  const counts = rollingOf(stage.fake).status.nodes.map(({ virtualMachines }) => virtualMachines);
  expect(counts).toMatchObject(NAMES.map(() => ({ total: 1, left: 0, moved: 1 })));
  expect(stage.fake.evacuations.list()).toHaveLength(3);
});

test("with maxUnavailable 2, two nodes are evacuated at the same time", async () => {
  const stage = stageOf({ maxUnavailable: 2 }, 2);
  await ticks(stage, LONG);
  expect([rollingOf(stage.fake).status.phase, stage.most]).toEqual(["Completed", 2]);
});

test("the next node waits until the node before it is back", async () => {
  const stage = stageOf();
  await ticks(stage, 8, false);
  expect(phasesOf(stage.fake)).toEqual(["Evacuated", "Pending", "Pending"]);
  expect(rollingOf(stage.fake).status.message).toContain("waits for node-1 to be schedulable and Ready again");
});

test("a pause also pauses the node in progress, and a resume continues it", async () => {
  const stage = stageOf();
  const readPhases = async () => {
    await stage.apps[0]?.reconcile();
    stage.apps[0]?.pass(9);
  };
  await readPhases();
  change(stage.fake, { progress: "Paused" });
  await readPhases();
  const said = evacuationsOf(stage.fake).map(({ spec, status }) => [spec.progress, status.phase]);
  expect(said).toEqual([["Running", "Paused"]]);
  await ticks(stage, 4);
  expect([rollingOf(stage.fake).status.phase, ...phasesOf(stage.fake)]).toEqual([
    "Paused",
    "Returned",
    "Pending",
    "Pending",
  ]);
  change(stage.fake, { progress: "Running" });
  await ticks(stage, LONG);
  expect(rollingOf(stage.fake).status.phase).toBe("Completed");
});

test("a withdrawn RollingMaintenance uncordons its node, and starts no other node", async () => {
  const stage = stageOf();
  await stage.apps[0]?.reconcile();
  expect(cordoned(stage.fake)).toEqual(["node-1"]);
  change(stage.fake, { intent: "Withdrawn" });
  await ticks(stage, 3);
  expect([rollingOf(stage.fake).status.phase, ...phasesOf(stage.fake)]).toEqual([
    "Withdrawn",
    "Withdrawn",
    "Skipped",
    "Skipped",
  ]);
  expect(cordoned(stage.fake)).toEqual([]);
});

async function uncordonedEarly(spec: object = {}): Promise<Stage> {
  const stage = stageOf(spec);
  await stage.apps[0]?.reconcile();
  stage.apps[0]?.pass(9);
  stage.fake.nodes.put(inService("node-1"));
  await stage.apps[0]?.reconcile();
  stage.apps[0]?.pass(9);
  return stage;
}

test("when a person uncordons a node in progress, no evacuation starts, and the status names the uncordon", async () => {
  const { fake } = await uncordonedEarly();
  const { status } = rollingOf(fake);
  expect([status.phase, ...phasesOf(fake)]).toEqual(["Running", "Paused", "Pending", "Pending"]);
  expect(status.message).toContain(
    "another party has uncordoned the node, so nothing new starts: kubectl cordon node-1",
  );
  expect(cordoned(fake)).toEqual([]);
});

test("when a person cordons the uncordoned node again, the node is evacuated, and the next nodes follow", async () => {
  const stage = await uncordonedEarly();
  stage.fake.nodes.put({ ...inService("node-1"), unschedulable: true });
  await ticks(stage, LONG);
  expect([rollingOf(stage.fake).status.phase, ...phasesOf(stage.fake)]).toEqual([
    "Completed",
    "Returned",
    "Returned",
    "Evacuated",
  ]);
});

test.each([
  ["Stop", "Stopped", "Expired,Skipped,Skipped"],
  ["Continue", "Completed", "Expired,Returned,Evacuated"],
])(
  "a node that a person uncordoned expires after nodeTimeoutSeconds, and whenNodeFails %s decides about the next nodes",
  async (whenNodeFails, phase, phases) => {
    const stage = await uncordonedEarly({ whenNodeFails, nodeTimeoutSeconds: 120 });
    stage.apps[0]?.pass(120);
    await ticks(stage, LONG);
    expect([rollingOf(stage.fake).status.phase, phasesOf(stage.fake).join()]).toEqual([phase, phases]);
  },
);

test("the RollingMaintenance and its nodes have Events", async () => {
  const stage = stageOf();
  await ticks(stage, LONG);
  const reported = stage.fake.recordedEvents.map(
    ({ about, reason }) => `${textOf(at(about, "kind"))} ${textOf(at(about, "name"))} ${reason}`,
  );
  expect(reported).toEqual(
    expect.arrayContaining([
      "RollingMaintenance weekend MaintenanceStarted",
      "Node node-1 MaintenanceStarted",
      "Node node-1 MaintenanceCompleted",
      "RollingMaintenance weekend MaintenanceCompleted",
    ]),
  );
});

test.each([
  ["cannot be cordoned", "patch nodes"],
  ["gets no NodeEvacuation", "create nodeevacuations"],
])("a node that %s before notAfter does not start after notAfter", async (_, failing) => {
  const fake = weekend({ schedule: { notAfter: time(120) } });
  const app = openApp(fake, (_url, asked) =>
    asked?.label === failing && app.now() < later(120) ? new Response("{}", { status: 500 }) : undefined,
  );
  const stage: Stage = { fake, apps: [app], most: 0 };
  await ticks(stage, LONG);
  expect(phasesOf(fake)).toEqual(["Expired", "Skipped", "Skipped"]);
  expect(stage.most).toBe(0);
});

test.each([
  [403, "Lifeboat lacks a permission (POST /apis/lifeboat.dev/v1alpha1/nodeevacuations)"],
  [500, "Lifeboat could not create a NodeEvacuation (POST /apis/lifeboat.dev/v1alpha1/nodeevacuations)"],
])(
  "while the creation of a NodeEvacuation fails with %i, the maintenance is Blocked, and its status says why",
  async (code, said) => {
    const fake = weekend();
    let isFailing = true;
    const app = openApp(fake, (_url, asked) =>
      isFailing && asked?.label === "create nodeevacuations" ? new Response("{}", { status: code }) : undefined,
    );
    await app.reconcile();
    expect([rollingOf(fake).status.phase, ...phasesOf(fake)]).toEqual(["Blocked", "Starting", "Pending", "Pending"]);
    expect(rollingOf(fake).status.message).toContain(said);
    isFailing = false;
    app.pass(31);
    await app.reconcile();
    expect([rollingOf(fake).status.phase, cordoned(fake)]).toEqual(["Running", ["node-1"]]);
  },
);

type Death = "before" | "after";

/** Lets the first process crash at write `n`. Returns the number of its writes. */
async function runDying(n: number, death: Death): Promise<{ readonly writes: number; readonly stage: Stage }> {
  const fake = weekend({ nodes: { names: NAMES.slice(0, 2) } });
  let [isDead, isReborn, writes] = [false, false, 0];
  const mayDie = (now: boolean) => {
    if (now) isDead = true;
    if (isDead && !isReborn) throw new TypeError("dead");
  };
  const app = openApp(fake, (_, asked?: RequestInfo) => {
    mayDie(false);
    if (asked === undefined || asked.verb === "get" || asked.verb === "list") return undefined;
    writes += 1;
    mayDie(writes === n && death === "before");
    const { code, body } = fake.api.answer(asked);
    if (writes === n && death === "after") isDead = true;
    return new Response(JSON.stringify(body), { status: code });
  });
  const stage: Stage = { fake, apps: [app], most: 0 };
  for (let i = 0; i < LONG && rollingOf(fake).status.phase !== "Completed"; i++) {
    await ticks(stage, 1);
    isReborn = isDead;
  }
  return { writes, stage };
}

test("after a crash before or after any write, the maintenance completes", async () => {
  const { writes } = await runDying(Number.POSITIVE_INFINITY, "before");
  expect(writes).toBeGreaterThan(20);
  for (let n = 1; n <= writes; n++) {
    const { stage } = await runDying(n, n % 2 === 0 ? "before" : "after");
    expect([n, rollingOf(stage.fake).status.phase, stage.most]).toEqual([n, "Completed", 1]);
    expect([n, evacuationsOf(stage.fake).length, stage.fake.evacuations.list().length]).toEqual([n, 2, 2]);
  }
});
