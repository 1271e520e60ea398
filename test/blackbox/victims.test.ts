/** Many deletions that do not ask, at a time: every VM moves first, and nobody asks more often than the guard says. */
import { describe, expect, test, type TestContext } from "vitest";
import * as z from "zod/mini";
import { nodes, pods } from "../../infra/sandbox/actors/resources.ts";
import { createNode } from "../../infra/sandbox/fleet.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { createPod, createPriorityClass } from "../../infra/sandbox/workloads.ts";
import { IS_REAL } from "../../infra/tools/control-plane.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import { parsedJson } from "../generators/json.ts";
import { NAMESPACE, type Stage, startStage } from "./stage.ts";
import { hasSettledAwayFrom, messageOf } from "./vm.ts";

const Review = z.object({
  door: z.literal("admission/deletions"),
  pod: z.string(),
  verdict: z.string(),
  retryAfterSeconds: z.optional(z.number()),
});
type Review = z.output<typeof Review> & { readonly at: number };

const NODE = "full";
const CLASS = "urgent";
/** One request at most every five seconds, the two of a round's end, and the last one once more. */
const MOST_A_MINUTE = 14;
/** The log comes a little later than its request, not always by the same time. */
const MOMENT_MS = 20 + 30;
const MOST_AT_ONCE = 3;
const TIMEOUT_MS = IS_REAL ? 300_000 : 120_000;
/** The requesters', and of the controllers of kube-system. */
const SEATS = /^apiserver_flowcontrol_current_executing_seats\{[^}]*priority_level="workload-high"[^}]*\} (\d+)$/gm;

/** A full node, and what the guard has said about its pods. */
interface Scene {
  readonly stage: Stage;
  readonly reviews: readonly Review[];
  /** The test's own: others may run at the same time. */
  readonly expect: TestContext["expect"];
}

async function start({ onTestFinished, expect: ofTest }: TestContext, guard: object = {}): Promise<Scene> {
  const reviews: Review[] = [];
  const onLog = (text: string) => {
    for (const line of text.split("\n")) {
      const said = Review.safeParse(parsedJson(line));
      if (said.success) reviews.push({ ...said.data, at: performance.now() });
    }
  };
  const featureGates = { PreemptionEvictionLiveMigration: true, NoExecuteTaintEvictionLiveMigration: true };
  const configuration = { featureGates, guard };
  const stage = await startStage({ nodes: [], optional: ["optional/guard/guard.yaml"], configuration, onLog });
  onTestFinished(() => stage.stop());
  await createNode(stage.client, NODE, { memory: "64Gi" });
  await createPriorityClass(stage.client, CLASS, 100_000);
  return { stage, reviews, expect: ofTest };
}

/** Migrations take so long where the control plane is real, and otherwise as long as there is time for in a test. */
const migrate = ({ stage }: Scene, seconds: number, simulated: number) =>
  stage.sandbox.migrations.configure({ seconds: IS_REAL ? seconds : simulated });

async function createVms({ stage }: Scene, count: number, memory = "1Gi"): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, n) => `vm-${n}`);
  const vm = { evictionStrategy: "LiveMigrate", node: NODE, memory, terminationGracePeriodSeconds: 1 };
  await Promise.all(names.map((name) => stage.createVm({ name, ...vm })));
  for (const name of ["empty-1", "empty-2"]) await createNode(stage.client, name, { memory: "64Gi" });
  return names.toSorted();
}

/** By a pod that needs so much of the node. */
async function preempt({ stage }: Scene, name: string, memory: string): Promise<void> {
  const more = { priorityClassName: CLASS, requests: { memory }, nodeSelector: { "kubernetes.io/hostname": NODE } };
  await createPod(stage.client, { namespace: NAMESPACE, name, ...more });
}

/**
 * Where its last victim's pod is gone before its turn, the scheduler looks at a pod again only when some other one ends; in a
 * cluster that is used one always does.
 */
async function untilPreempted(scene: Scene, name: string): Promise<void> {
  const { client } = scene.stage;
  const passing = { namespace: NAMESPACE, name: "passing" };
  const phase = async () => {
    const { status } = (await client.get(pods, { namespace: NAMESPACE, name })) ?? {};
    if (status?.phase === "Running") return status.phase;
    await createPod(client, { ...passing, node: NODE, priorityClassName: CLASS });
    await client.delete(pods, passing, { gracePeriodSeconds: 0 });
    return status?.phase;
  };
  await eventually(scene, phase).toBe("Running");
}

const taint = ({ stage }: Scene, taints: readonly object[]) =>
  stage.client.patch(nodes, { name: NODE }, { type: "merge", body: { spec: { taints } } });
const MAINTENANCE = [{ key: "maintenance", effect: "NoExecute" }];

type Vmi = kubevirt.VirtualMachineInstance;

async function namesOf({ stage }: Scene, isWanted: (vmi: Vmi) => boolean): Promise<readonly string[]> {
  const { items } = await stage.client.list(kubevirt.virtualMachineInstances, NAMESPACE);
  return items
    .filter(isWanted)
    .map(({ metadata }) => metadata.name)
    .toSorted();
}

const isRunning = ({ status }: Vmi) => status?.phase === "Running";
const isMarked = ({ status }: Vmi) => status?.evacuationNodeName !== undefined;
const moved = (scene: Scene) => namesOf(scene, hasSettledAwayFrom(NODE));

/** Polls what may take as long as the test. */
const eventually = <T>({ expect: ofTest }: Scene, of: () => Promise<T>) =>
  ofTest.poll(of, { timeout: TIMEOUT_MS, interval: 200 });

/** Of one pod, within so long. */
function most(all: readonly Review[], ms: number): number {
  return Math.max(...all.map(({ at }) => all.filter((other) => other.at >= at && other.at < at + ms).length));
}

/** Each of the requesters asks for itself. */
function expectFewRequests({ reviews }: Scene, requesters = 1): void {
  for (const [pod, all] of Map.groupBy(reviews, (one) => one.pod)) {
    expect([pod, Math.max(MOST_A_MINUTE * requesters, most(all, 60_000))]).toEqual([pod, MOST_A_MINUTE * requesters]);
    expect([pod, Math.max(MOST_AT_ONCE * requesters, most(all, MOMENT_MS))]).toEqual([pod, MOST_AT_ONCE * requesters]);
  }
}

/** How many seats requests of the requesters' level have at the API server; a simulated one has none. */
async function seats({ stage }: Scene): Promise<number> {
  const { body } = await stage.client.raw({ method: "GET", path: "/metrics" });
  return [...messageOf(body).matchAll(SEATS)].reduce((sum, [, count]) => sum + Number(count), 0);
}

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
    const names = await createVms(scene, 12, "4Gi");
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
  });

  test("VMs that never move: past the deadline they go, the last one after the others", async (context) => {
    const scene = await start(context, { deadlineSeconds: { Preemption: 4 } });
    await createVms(scene, 3);
    scene.stage.sandbox.migrations.configure({ seconds: 600 });
    await preempt(scene, "preemptor", "64Gi");
    await untilPreempted(scene, "preemptor");
    const released = scene.reviews.filter(({ verdict }) => verdict === "Release");
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
    const { stage, reviews } = scene;
    const names = await createVms(scene, 40);
    migrate(scene, 5, 0.2);
    await taint(scene, MAINTENANCE);
    await eventually(scene, () => isTime(scene)).toBe(true);
    await taint(scene, []);
    const gone = performance.now();
    await eventually(scene, () => namesOf(scene, isMarked)).toEqual([]);
    // The taint manager asks until it is told that the pod stays, and may be told so only now.
    const isOver = (pod: string) =>
      reviews.some((one) => one.pod === pod && one.at > gone && one.retryAfterSeconds === undefined);
    const asked = async () => {
      const { items } = await stage.client.list(pods, NAMESPACE, { fieldSelector: `spec.nodeName=${NODE}` });
      const staying = items.filter(({ status }) => status?.phase === "Running");
      return staying.map(({ metadata }) => `${NAMESPACE}/${metadata.name}`).filter((pod) => !isOver(pod));
    };
    await eventually(scene, asked).toEqual([]);
    expect(await namesOf(scene, isRunning)).toEqual(names);
    const open = async () => {
      const { items } = await stage.client.list(evacuations, NAMESPACE);
      return items.filter(({ status }) => !["Moved", "Withdrawn", "Duplicate"].includes(status?.phase ?? ""));
    };
    await eventually(scene, open).toEqual([]);
  });
});
