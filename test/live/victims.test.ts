/**
 * Many deletions that bypass evictions, at the same time: every VM moves first, and nobody asks more often than the guard says. VMs are lost only to
 * the deadline or in the absence of Lifeboat.
 */
import { describe, expect, test } from "vitest";
import { createNode, events, isFinal, pods } from "../../infra/sandbox/index.ts";
import { END_PHASES } from "../../shared/kube/evacuation.ts";
import { hasSettledAwayFrom } from "./vm.ts";
import { closeQueue, NAMESPACE, openQueue } from "./stage.ts";
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
  NODE,
  preempt,
  type Scene,
  seats,
  start,
  stillAsked,
  taint,
  TIMEOUT_MS,
  untilPreempted,
} from "./victims.ts";

const NIGHT = { tags: ["nightly"] };
const GROUPS = { tags: ["groups", "nightly"] };

/** As the scheduler asks for one after another, four of them show all that twelve do. */
const COUNT = IS_REAL ? 12 : 4;

const ended = (scene: Scene) => namesOf(scene, ({ status }) => isFinal(status));
const settled = async (scene: Scene) => [...(await moved(scene)), ...(await ended(scene))].toSorted();

/** Nothing is left of it: no mark on a VM that runs, and no Evacuation that has not ended. */
async function untilOver(scene: Scene): Promise<void> {
  await eventually(scene, () => namesOf(scene, (vmi) => isRunning(vmi) && isMarked(vmi))).toEqual([]);
  await eventually(scene, () => evacuationsBut(scene, END_PHASES)).toEqual([]);
}

/** VMs of which an Event says that they go: by the guard, or by Lifeboat itself where the requester has not come back yet. */
async function allowed({ stage }: Scene): Promise<ReadonlySet<string | undefined>> {
  const { items } = await stage.client.list(events, NAMESPACE);
  const reported = items.filter(({ reason }) => reason === "DeletionAllowed" || reason === "DeadlineKept");
  return new Set(reported.map(({ involvedObject }) => involvedObject.name));
}

/** VMs that have no pod any more that stays on the node. */
async function doomed({ stage }: Scene, names: readonly string[]): Promise<readonly string[]> {
  const { items } = await stage.client.list(pods, NAMESPACE, { fieldSelector: `spec.nodeName=${NODE}` });
  const staying = items.filter(({ metadata, status }) => !metadata.deletionTimestamp && status?.phase === "Running");
  const safe = new Set(staying.map(({ metadata }) => metadata.annotations?.["kubevirt.io/domain"]));
  return names.filter((name) => !safe.has(name));
}

// Each waits for pauses of some seconds, and for nothing of another's.
describe("all at a time", { concurrent: !IS_REAL, timeout: TIMEOUT_MS }, () => {
  test("victims of one preemption, with the API server gone for a moment: no deletion takes a seat while it waits", async (context) => {
    const scene = await start(context);
    const names = await createVms(scene, COUNT);
    migrate(scene, 5, 1);
    await preempt(scene, "preemptor", "64Gi");
    const taken: number[] = [];
    const settled = async () => {
      taken.push(await seats(scene));
      return await moved(scene);
    };
    await eventually(scene, async () => (await settled()).length).toBeGreaterThan(0);
    await scene.stage.sandbox.apiServer.suspend();
    await scene.stage.sandbox.apiServer.resume();
    await eventually(scene, settled).toEqual(names);
    await untilPreempted(scene, "preemptor");
    expect(taken.toSorted((a, b) => a - b)[Math.floor(taken.length / 2)]).toBe(0);
    expectFewRequests(scene);
  });

  test("two preemptions for one node", NIGHT, async (context) => {
    const scene = await start(context);
    const names = await createVms(scene, COUNT, { memory: `${48 / COUNT}Gi` });
    migrate(scene, 5, 0.5);
    await preempt(scene, "first", "30Gi");
    await preempt(scene, "second", "30Gi");
    for (const name of ["first", "second"]) await untilPreempted(scene, name);
    // A VM may have room beside them.
    expect(await namesOf(scene, isRunning)).toEqual(names);
    await eventually(scene, () => namesOf(scene, isMarked)).toEqual([]);
    expectFewRequests(scene, 2);
  });

  test(
    "victims of a group of pods, on two nodes: the last one's deletion comes after the others'",
    GROUPS,
    async (context) => {
      const scene = await start(context);
      const { stage, reviews } = scene;
      await createNode(stage.client, "full-2", { memory: "64Gi" });
      const there = {
        node: "full-2",
        evictionStrategy: "LiveMigrate",
        memory: "1Gi",
        terminationGracePeriodSeconds: 1,
      };
      const others = await Promise.all(["db-0", "db-1"].map((name) => stage.createVm({ name, ...there })));
      const names = [...others.map(({ metadata }) => metadata.name), ...(await createVms(scene, 2))];
      migrate(scene, 5, 1);
      await preempt(scene, "gang-1", "64Gi", { podGroup: "gang" });
      await preempt(scene, "gang-2", "64Gi", { podGroup: "gang", node: "full-2" });
      const away = ["full-2", NODE].map(hasSettledAwayFrom);
      await eventually(scene, () => namesOf(scene, (vmi) => away.every((is) => is(vmi)))).toEqual(names);
      for (const name of ["gang-1", "gang-2"]) await untilPreempted(scene, name);
      // Each is refused once before any is asked for again, and the last one when the others are gone.
      // A VM that finds room on the other of the two nodes is a victim of the next round.
      const pods = [...new Set(reviews.map(({ pod }) => pod))].slice(0, 4);
      const [last] = pods.slice(-1);
      expect(new Set(reviews.slice(0, 3).map(({ pod }) => pod)).size).toBe(3);
      for (const pod of pods) expect(reviews.find((one) => one.pod === pod)?.verdict).toBe("Refuse");
      const after = reviews.slice(reviews.findIndex(({ pod }) => pod === last));
      expect(after.filter(({ pod }) => pods.includes(pod) && pod !== last)).toEqual([]);
      expectFewRequests(scene);
    },
  );

  test("VMs that never move: past the deadline they go, the last one after the others", NIGHT, async (context) => {
    // The deadline is looked at by Lifeboat's clock.
    const scene = await start(context, { faster: 1, guard: { deadlineSeconds: { Preemption: 4 } } });
    await createVms(scene, 3);
    scene.stage.sandbox.migrations.configure({ seconds: 600 });
    await preempt(scene, "preemptor", "64Gi");
    await untilPreempted(scene, "preemptor");
    const released = scene.reviews.filter(({ verdict }) => verdict === "Allow");
    expect(new Set(released.map(({ pod }) => pod)).size).toBe(3);
    await eventually(scene, async () => (await allowed(scene)).size).toBeGreaterThan(0);
    expectFewRequests(scene);
  });

  test("victims, and Lifeboat is away: those that are asked about meanwhile go, and no other", async (context) => {
    const scene = await start(context);
    const names = await createVms(scene, COUNT);
    migrate(scene, 5, 1);
    // None moves before Lifeboat is back.
    await closeQueue(scene.stage.client);
    await preempt(scene, "preemptor", "64Gi");
    const asked = () => Promise.resolve(new Set(scene.reviews.map(({ pod }) => pod)).size);
    await eventually(scene, asked).toBe(names.length - 1);
    await scene.stage.stopWorker();
    await eventually(scene, () => doomed(scene, names)).not.toEqual([]);
    await scene.stage.restartWorker();
    const lost = await doomed(scene, names);
    await openQueue(scene.stage.client);
    await eventually(scene, () => settled(scene)).toEqual(names);
    expect((await ended(scene)).filter((name) => !lost.includes(name))).toEqual([]);
    await untilPreempted(scene, "preemptor");
    await untilOver(scene);
    expect(scene.reviews.filter(({ reason }) => reason === "DeadlinePassed")).toEqual([]);
  });
});

const NIGHTLY = { tags: ["nightly"], timeout: TIMEOUT_MS };

test("forty VMs of a node whose taint goes when sixteen have moved: the others stay", NIGHTLY, async (context) => {
  const scene = await start(context);
  const names = await createVms(scene, 40);
  migrate(scene, 5, 0.2);
  await taint(scene, MAINTENANCE);
  await eventually(scene, async () => (await moved(scene)).length).toBeGreaterThanOrEqual(16);
  const gone = scene.clock.now().getTime();
  await taint(scene, []);
  await eventually(scene, () => namesOf(scene, isMarked)).toEqual([]);
  await eventually(scene, () => stillAsked(scene, gone)).toEqual([]);
  expect(await namesOf(scene, isRunning)).toEqual(names);
  await eventually(scene, () => evacuationsBut(scene, ["Moved", "Withdrawn", "Duplicate"])).toEqual([]);
});

test("forty VMs of one tainted node: past the deadline those go that have not moved", NIGHTLY, async (context) => {
  const scene = await start(context, { faster: 1, guard: { deadlineSeconds: { NoExecuteTaint: 30 } } });
  const names = await createVms(scene, 40, { external: 20 });
  migrate(scene, 5, 0.2);
  await taint(scene, MAINTENANCE);
  await eventually(scene, () => settled(scene)).toEqual(names);
  // A VM that migrates may still arrive.
  const endedUnsaid = async () => {
    const names = await allowed(scene);
    return (await ended(scene)).filter((name) => !names.has(name));
  };
  await eventually(scene, endedUnsaid).toEqual([]);
  expect((await ended(scene)).length).toBeGreaterThanOrEqual(20);
  await untilOver(scene);
  expectFewRequests(scene);
});
