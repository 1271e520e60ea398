/**
 * Tests many concurrent deletions that bypass evictions. Every VM moves first, and each requester retries only as often
 * as Lifeboat allows. A VM is lost only if the deadline passes or Lifeboat is down.
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

/** Four VMs are enough in a simulated cluster, because the scheduler retries pods one after another. */
const COUNT = IS_REAL ? 12 : 4;

const ended = (scene: Scene) => namesOf(scene, ({ status }) => isFinal(status));
const settled = async (scene: Scene) => [...(await moved(scene)), ...(await ended(scene))].toSorted();

async function untilOver(scene: Scene): Promise<void> {
  await eventually(scene, () => namesOf(scene, (vmi) => isRunning(vmi) && isMarked(vmi))).toEqual([]);
  await eventually(scene, () => evacuationsBut(scene, END_PHASES)).toEqual([]);
}

/**
 * Returns the VMs with an Event which says that Lifeboat allowed the deletion of the pod, or deleted the pod itself.
 */
async function allowed({ stage }: Scene): Promise<ReadonlySet<string | undefined>> {
  const { items } = await stage.client.list(events, NAMESPACE);
  const reported = items.filter(({ reason }) => reason === "DeletionAllowed" || reason === "DeadlineKept");
  return new Set(reported.map(({ involvedObject }) => involvedObject.name));
}

/** Returns the VMs without a running pod on the node. A pod that is being deleted does not count as running. */
async function doomed({ stage }: Scene, names: readonly string[]): Promise<readonly string[]> {
  const { items } = await stage.client.list(pods, NAMESPACE, { fieldSelector: `spec.nodeName=${NODE}` });
  const staying = items.filter(({ metadata, status }) => !metadata.deletionTimestamp && status?.phase === "Running");
  const safe = new Set(staying.map(({ metadata }) => metadata.annotations?.["kubevirt.io/domain"]));
  return names.filter((name) => !safe.has(name));
}

// Runs the tests concurrently, because each test mostly waits.
describe("all victims at the same time", { concurrent: !IS_REAL, timeout: TIMEOUT_MS }, () => {
  test("victims of one preemption move although the API server is suspended, and held deletions take no seats", async (context) => {
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

  test("the victims of two preemptions for one node all stay running", NIGHT, async (context) => {
    const scene = await start(context);
    const names = await createVms(scene, COUNT, { memory: `${48 / COUNT}Gi` });
    migrate(scene, 5, 0.5);
    await preempt(scene, "first", "30Gi");
    await preempt(scene, "second", "30Gi");
    for (const name of ["first", "second"]) await untilPreempted(scene, name);
    // Some VMs can stay on the node, because it can have enough memory for them and for the preemptors.
    expect(await namesOf(scene, isRunning)).toEqual(names);
    await eventually(scene, () => namesOf(scene, isMarked)).toEqual([]);
    expectFewRequests(scene, 2);
  });

  test(
    "for victims of a PodGroup on two nodes, the last victim is deleted after the others have gone",
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
      // Each pod is refused once before any pod is retried. The last pod is retried when all other pods are gone. Only
      // the first four pods count: a VM that moves from one of these nodes to the other is preempted there again.
      const pods = [...new Set(reviews.map(({ pod }) => pod))].slice(0, 4);
      const [last] = pods.slice(-1);
      expect(new Set(reviews.slice(0, 3).map(({ pod }) => pod)).size).toBe(3);
      for (const pod of pods) expect(reviews.find((one) => one.pod === pod)?.verdict).toBe("Refuse");
      const after = reviews.slice(reviews.findIndex(({ pod }) => pod === last));
      expect(after.filter(({ pod }) => pods.includes(pod) && pod !== last)).toEqual([]);
      expectFewRequests(scene);
    },
  );

  test(
    "VMs that never move are deleted after the deadline, the last victim after the others",
    NIGHT,
    async (context) => {
      // The cluster's clock runs in real time here, like Lifeboat's clock, which measures the deadline.
      const scene = await start(context, { faster: 1, guard: { deadlineSeconds: { Preemption: 4 } } });
      await createVms(scene, 3);
      scene.stage.sandbox.migrations.configure({ seconds: 600 });
      await preempt(scene, "preemptor", "64Gi");
      await untilPreempted(scene, "preemptor");
      const released = scene.reviews.filter(({ verdict }) => verdict === "Allow");
      expect(new Set(released.map(({ pod }) => pod)).size).toBe(3);
      await eventually(scene, async () => (await allowed(scene)).size).toBeGreaterThan(0);
      expectFewRequests(scene);
    },
  );

  test("while Lifeboat is down, only victims whose deletion is requested meanwhile are lost", async (context) => {
    const scene = await start(context);
    const names = await createVms(scene, COUNT);
    migrate(scene, 5, 1);
    // Closes KubeVirt's queue, so that no VM moves before Lifeboat is back.
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

test(
  "when a taint is removed from forty VMs' node after sixteen have moved, the others stay",
  NIGHTLY,
  async (context) => {
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
  },
);

test("forty VMs of a tainted node move, or are deleted after the deadline", NIGHTLY, async (context) => {
  const scene = await start(context, { faster: 1, guard: { deadlineSeconds: { NoExecuteTaint: 30 } } });
  const names = await createVms(scene, 40, { external: 20 });
  migrate(scene, 5, 0.2);
  await taint(scene, MAINTENANCE);
  await eventually(scene, () => settled(scene)).toEqual(names);
  // Polls, because a VM that is migrating can still arrive on its target node.
  const endedUnsaid = async () => {
    const names = await allowed(scene);
    return (await ended(scene)).filter((name) => !names.has(name));
  };
  await eventually(scene, endedUnsaid).toEqual([]);
  expect((await ended(scene)).length).toBeGreaterThanOrEqual(20);
  await untilOver(scene);
  expectFewRequests(scene);
});
