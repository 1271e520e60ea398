/** Many deletions that do not ask, where not every VM moves: past the deadline, while Lifeboat is away, without an external controller. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { events } from "../../infra/sandbox/actors/resources.ts";
import { isFinal } from "../../infra/sandbox/kubevirt/resources.ts";
import { END_PHASES } from "../../shared/kube/evacuation.ts";
import { createFastClock } from "./fast-clock.ts";
import { NAMESPACE } from "./stage.ts";
import {
  createVms,
  evacuationsBut,
  eventually,
  expectFewRequests,
  isMarked,
  isRunning,
  MAINTENANCE,
  migrate,
  MOST_A_MINUTE,
  moved,
  namesOf,
  NODE,
  preempt,
  type Scene,
  start,
  stillAsked,
  taint,
  TIMEOUT_MS,
  untilPreempted,
} from "./victims.ts";

const TIMEOUT = { timeout: TIMEOUT_MS };

const ended = (scene: Scene) => namesOf(scene, ({ status }) => isFinal(status));
const settled = async (scene: Scene) => [...(await moved(scene)), ...(await ended(scene))].toSorted();

/** Nothing is left of it: no mark on a VM that runs, and no Evacuation that has not ended. */
async function untilOver(scene: Scene): Promise<void> {
  await eventually(scene, () => namesOf(scene, (vmi) => isRunning(vmi) && isMarked(vmi))).toEqual([]);
  await eventually(scene, () => evacuationsBut(scene, END_PHASES)).toEqual([]);
}

test("forty VMs of one tainted node: past the deadline those go that have not moved", TIMEOUT, async (context) => {
  const scene = await start(context, { guard: { deadlineSeconds: { NoExecuteTaint: 30 } } });
  const names = await createVms(scene, 40, { external: 20 });
  migrate(scene, 5, 0.2);
  await taint(scene, MAINTENANCE);
  await eventually(scene, () => settled(scene)).toEqual(names);
  const told = async () => {
    const { items } = await scene.stage.client.list(events, NAMESPACE);
    // By the guard, or by Lifeboat itself where the taint manager has not come back yet.
    const allowed = items.filter(({ reason }) => reason === "DeletionAllowed" || reason === "DeadlineKept");
    return [...new Set(allowed.flatMap(({ involvedObject }) => involvedObject.name ?? []))].toSorted();
  };
  await eventually(scene, told).toEqual(await ended(scene));
  expect((await ended(scene)).length).toBeGreaterThanOrEqual(20);
  await untilOver(scene);
  expectFewRequests(scene);
});

test(
  "twelve victims, and Lifeboat is away for 20 s: those that are asked about meanwhile may go",
  TIMEOUT,
  async (context) => {
    const scene = await start(context);
    const names = await createVms(scene, 12);
    migrate(scene, 5, 3);
    await preempt(scene, "preemptor", "64Gi");
    const asked = () => Promise.resolve(new Set(scene.reviews.map(({ pod }) => pod)).size);
    await eventually(scene, asked).toBe(names.length - 1);
    await scene.stage.stopWorker();
    await delay(20_000);
    await scene.stage.restartWorker();
    await eventually(scene, () => settled(scene)).toEqual(names);
    await untilPreempted(scene, "preemptor");
    await untilOver(scene);
    expect(scene.reviews.filter(({ reason }) => reason === "DeadlinePassed")).toEqual([]);
  },
);

const FASTER = 20;

describe("a taint that goes, by the clock of the cluster", { tags: ["clock"], ...TIMEOUT }, () => {
  test.for([3, 60])("after %d s: External VMs stay, and so does what has not moved", async (seconds, context) => {
    const clock = createFastClock(FASTER);
    const scene = await start(context, { clock });
    const names = await createVms(scene, 8, { external: 4 });
    scene.stage.sandbox.migrations.configure({ seconds: 5 });
    await taint(scene, MAINTENANCE);
    await new Promise<void>((resolve) => clock.setTimer(seconds * 1000, resolve));
    await taint(scene, []);
    const [gone, before] = [performance.now(), [...scene.reviews]];
    await untilOver(scene);
    await eventually(scene, () => stillAsked(scene, gone)).toEqual([]);
    expect(await namesOf(scene, isRunning)).toEqual(names);
    const external = names.slice(4);
    expect(await namesOf(scene, ({ status }) => status?.nodeName === NODE)).toEqual(expect.arrayContaining(external));
    expect(await evacuationsBut(scene, ["Moved", "Withdrawn", "Duplicate"])).toEqual([]);
    const counts = [...Map.groupBy(before, ({ pod }) => pod).values()].map(({ length }) => length);
    expect(Math.max(0, ...counts)).toBeLessThanOrEqual(MOST_A_MINUTE);
  });
});
