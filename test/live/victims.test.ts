/** Many deletions that do not ask, at a time: every VM moves first, and nobody asks more often than the guard says. */
import { describe, expect, test } from "vitest";
import { IS_REAL } from "../../infra/lab/stage/control-plane.ts";
import {
  createVms,
  evacuationsBut,
  eventually,
  expectFewRequests,
  isMarked,
  isRunning,
  MAINTENANCE,
  migrate,
  moved,
  namesOf,
  preempt,
  type Scene,
  seats,
  start,
  stillAsked,
  taint,
  TIMEOUT_MS,
  untilPreempted,
} from "./victims.ts";

// Each waits for pauses of some seconds, and for nothing of another's.
describe("all at a time", { concurrent: !IS_REAL, timeout: TIMEOUT_MS }, () => {
  test("twelve victims of one preemption, none of whose deletions takes a seat while it waits", async (context) => {
    const scene = await start(context);
    const names = await createVms(scene, 12);
    migrate(scene, 5, 1);
    await preempt(scene, "preemptor", "64Gi");
    const taken: number[] = [];
    const settled = async () => {
      taken.push(await seats(scene));
      return await moved(scene);
    };
    await eventually(scene, settled).toEqual(names);
    await untilPreempted(scene, "preemptor");
    expect(taken.toSorted((a, b) => a - b)[Math.floor(taken.length / 2)]).toBe(0);
    expectFewRequests(scene);
  });

  test("two preemptions for one node", async (context) => {
    const scene = await start(context);
    const names = await createVms(scene, 12, { memory: "4Gi" });
    migrate(scene, 5, 0.5);
    await preempt(scene, "first", "30Gi");
    await preempt(scene, "second", "30Gi");
    for (const name of ["first", "second"]) await untilPreempted(scene, name);
    // A VM may have room beside them.
    expect(await namesOf(scene, isRunning)).toEqual(names);
    await eventually(scene, () => namesOf(scene, isMarked)).toEqual([]);
    expectFewRequests(scene, 2);
  });

  test("the API server goes in the middle of a preemption, and comes back", async (context) => {
    const scene = await start(context);
    const names = await createVms(scene, 6);
    migrate(scene, 5, 1);
    await preempt(scene, "preemptor", "64Gi");
    await eventually(scene, async () => (await moved(scene)).length).toBeGreaterThan(0);
    await scene.stage.sandbox.apiServer.suspend();
    await scene.stage.sandbox.apiServer.resume();
    await eventually(scene, () => moved(scene)).toEqual(names);
    await untilPreempted(scene, "preemptor");
    expectFewRequests(scene);
  });

  test("VMs that never move: past the deadline they go, the last one after the others", async (context) => {
    const scene = await start(context, { guard: { deadlineSeconds: { Preemption: 4 } } });
    await createVms(scene, 3);
    scene.stage.sandbox.migrations.configure({ seconds: 600 });
    await preempt(scene, "preemptor", "64Gi");
    await untilPreempted(scene, "preemptor");
    const released = scene.reviews.filter(({ verdict }) => verdict === "Allow");
    expect(new Set(released.map(({ pod }) => pod)).size).toBe(3);
    expectFewRequests(scene);
  });
});

test("forty VMs of one tainted node", { timeout: TIMEOUT_MS }, async (context) => {
  const scene = await start(context);
  const names = await createVms(scene, 40);
  migrate(scene, 5, 0.2);
  await taint(scene, MAINTENANCE);
  await eventually(scene, () => moved(scene)).toEqual(names);
  expectFewRequests(scene);
});

// prettier-ignore
const WHEN = [
  ["when all have been refused",  async ({ reviews }: Scene) => new Set(reviews.map(({ pod }) => pod)).size === 40],
  ["when sixteen VMs have moved", async (scene: Scene) => (await moved(scene)).length >= 16],
] as const;

describe("forty VMs of a node whose taint goes: what has not moved stays", { timeout: TIMEOUT_MS }, () => {
  test.for(WHEN)("%s", async ([, isTime], context) => {
    const scene = await start(context);
    const names = await createVms(scene, 40);
    migrate(scene, 5, 0.2);
    await taint(scene, MAINTENANCE);
    await eventually(scene, () => isTime(scene)).toBe(true);
    await taint(scene, []);
    const gone = performance.now();
    await eventually(scene, () => namesOf(scene, isMarked)).toEqual([]);
    await eventually(scene, () => stillAsked(scene, gone)).toEqual([]);
    expect(await namesOf(scene, isRunning)).toEqual(names);
    await eventually(scene, () => evacuationsBut(scene, ["Moved", "Withdrawn", "Duplicate"])).toEqual([]);
  });
});
