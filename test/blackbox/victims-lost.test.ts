/** Many deletions that do not ask, where not every VM moves: past the deadline, while Lifeboat is away, without an external controller. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { isFinal } from "../../infra/sandbox/kubevirt/resources.ts";
import { IS_REAL } from "../../infra/tools/control-plane.ts";
import { END_PHASES } from "../../shared/policy/evacuation/phase.ts";
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

const ended = (scene: Scene) => namesOf(scene, ({ status }) => isFinal(status));
const settled = async (scene: Scene) => [...(await moved(scene)), ...(await ended(scene))].toSorted();

/** Nothing is left of it: no mark on a VM that runs, and no Evacuation that has not ended. */
async function untilOver(scene: Scene): Promise<void> {
  await eventually(scene, () => namesOf(scene, (vmi) => isRunning(vmi) && isMarked(vmi))).toEqual([]);
  await eventually(scene, () => evacuationsBut(scene, END_PHASES)).toEqual([]);
}

/** The pods of these VMs. */
function reviewsOf({ reviews }: Scene, names: readonly string[]) {
  return reviews.filter(({ pod }) => names.some((name) => pod.startsWith(`${NAMESPACE}/virt-launcher-${name}-`)));
}

test(
  "forty VMs of one tainted node beyond the deadline: who has not moved may go",
  { timeout: TIMEOUT_MS },
  async (context) => {
    const scene = await start(context, { guard: { deadlineSeconds: { NoExecuteTaint: IS_REAL ? 30 : 15 } } });
    const names = await createVms(scene, 40);
    migrate(scene, 5, 1);
    await taint(scene, MAINTENANCE);
    await eventually(scene, () => settled(scene)).toEqual(names);
    const gone = await ended(scene);
    expect([gone.length > 0, gone.length < names.length]).toEqual([true, true]);
    const allowed = reviewsOf(scene, gone).filter(({ reason }) => reason === "DeadlinePassed");
    expect(new Set(allowed.map(({ pod }) => pod)).size).toBe(gone.length);
    await untilOver(scene);
    expectFewRequests(scene);
  },
);

// prettier-ignore
const ABSENCES = [
  ["between two requests: none is lost",                   3,  0],
  ["for 20 s: those that are asked about meanwhile may go", 20, 10],
] as const;

describe(
  "twelve victims of one preemption, and Lifeboat goes in the middle",
  { concurrent: !IS_REAL, timeout: TIMEOUT_MS },
  () => {
    test.for(ABSENCES)("%s", async ([, seconds, most], context) => {
      const scene = await start(context);
      const names = await createVms(scene, 12);
      migrate(scene, 5, 3);
      await preempt(scene, "preemptor", "64Gi");
      const asked = () => Promise.resolve(new Set(scene.reviews.map(({ pod }) => pod)).size);
      await eventually(scene, asked).toBe(names.length - 1);
      await scene.stage.stopWorker();
      await delay(seconds * 1000);
      await scene.stage.restartWorker();
      await eventually(scene, () => settled(scene)).toEqual(names);
      expect((await ended(scene)).length).toBeLessThanOrEqual(most);
      await untilPreempted(scene, "preemptor");
      await untilOver(scene);
      expect(scene.reviews.filter(({ reason }) => reason === "DeadlinePassed")).toEqual([]);
    });
  },
);

const FASTER = 20;

describe("a taint that goes, by the clock of the cluster", { tags: ["clock"] }, () => {
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
