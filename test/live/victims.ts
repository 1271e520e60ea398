/**
 * Creates a full node whose VMs a scheduler or a taint manager removes at the same time. Records the reviews of their
 * pods.
 */
import { GUARD_FILES } from "../../infra/lab/stage/apply.ts";
import { expect, type TestContext } from "vitest";
import * as z from "zod/mini";
import {
  type Clock,
  createNode,
  createPod,
  createPriorityClass,
  createSteppedClock,
  kubevirt,
  nodes,
  pods,
  systemClock,
} from "../../infra/sandbox/index.ts";
import { IS_REAL } from "../../infra/lab/stage/control-plane.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { parsedJson } from "../support/json.ts";
import { NAMESPACE, type Stage, startSimulatedStage, startStage } from "./stage.ts";
import { hasSettledAwayFrom, messageOf } from "./vm.ts";

const Review = z.object({
  endpoint: z.literal("admission/deletions"),
  pod: z.string(),
  verdict: z.string(),
  reason: z.optional(z.string()),
  retryAfterSeconds: z.optional(z.number()),
});
export type Review = z.output<typeof Review> & { readonly at: number };

export const NODE = "full";
const FASTER = 10;
const STEP_MS = 20;
const CLASS = "urgent";
/**
 * The maximum number of requests per minute and pod: 12 at intervals of five seconds, one more at the end of a round
 * of retries, and one repeated request.
 */
const MOST_A_MINUTE = 14;
/** The maximum delay between a request and its log entry. */
const MOMENT_MS = 20 + 30;
const MOST_AT_ONCE = 3;
export const TIMEOUT_MS = IS_REAL ? 300_000 : 120_000;
/**
 * The API server's metric for seats of the requesters' priority level. The controllers of kube-system use this level,
 * too.
 */
const SEATS = /^apiserver_flowcontrol_current_executing_seats\{[^}]*priority_level="workload-high"[^}]*\} (\d+)$/gm;

export interface Scene {
  readonly stage: Stage;
  /** The cluster's clock. `Review.at` is a time of this clock. */
  readonly clock: Clock;
  /**
   * Speeds up the cluster's clock. Call it just before the first disruption. If the clock is far ahead of Lifeboat's
   * clock, Lifeboat treats an Evacuation without reviews as a leftover.
   */
  readonly hurry: () => void;
  readonly reviews: readonly Review[];
  /** The test's own `expect`, because tests run concurrently. */
  readonly expect: TestContext["expect"];
}

interface SceneOptions {
  readonly guard?: object;
  /** The speed of the simulated cluster's clock relative to real time. Lifeboat's clock runs in real time. */
  readonly faster?: number;
}

/**
 * Creates a clock that runs in real time until `hurry` is called, and faster afterwards. If the clock were fast during
 * the start-up, it would be far ahead of Lifeboat's clock. The clock stops while this process cannot run.
 */
export function createClockToHurry(times: number, atEnd: TestContext["onTestFinished"]) {
  const clock = createSteppedClock(new Date());
  let pace = 1;
  const stepping = setInterval(() => clock.advance(STEP_MS * pace), STEP_MS);
  atEnd(() => clearInterval(stepping));
  return Object.assign(clock, { hurry: () => void (pace = times) });
}

export async function start(
  { onTestFinished, expect: ofTest }: TestContext,
  { guard = {}, faster = FASTER }: SceneOptions = {},
): Promise<Scene> {
  const hurried = IS_REAL || faster === 1 ? undefined : createClockToHurry(faster, onTestFinished);
  const clock = hurried ?? systemClock;
  const reviews: Review[] = [];
  const onLog = (text: string) => {
    for (const line of text.split("\n")) {
      const said = Review.safeParse(parsedJson(line));
      if (said.success) reviews.push({ ...said.data, at: clock.now().getTime() });
    }
  };
  const featureGates = { PreemptionEvictionLiveMigration: true, NoExecuteTaintEvictionLiveMigration: true };
  const configuration = { featureGates, guard };
  const options = { nodes: [], optional: GUARD_FILES, configuration, onLog };
  const stage = await (IS_REAL ? startStage(options) : startSimulatedStage({ ...options, clock }));
  onTestFinished(() => stage.stop());
  await createNode(stage.client, NODE, { memory: "64Gi" });
  await createPriorityClass(stage.client, CLASS, 100_000);
  return { stage, clock, hurry: () => hurried?.hurry(), reviews, expect: ofTest };
}

/**
 * Sets the duration of migrations in seconds: `seconds` on a real control plane, `simulated` on a simulated control
 * plane.
 */
export const migrate = ({ stage }: Scene, seconds: number, simulated: number) =>
  stage.sandbox.migrations.configure({ seconds: IS_REAL ? seconds : simulated });

/**
 * Creates VMs on the full node. The last `external` VMs have the eviction strategy External, and no controller moves
 * them.
 */
export async function createVms(
  { stage, hurry }: Scene,
  count: number,
  { memory = "1Gi", external = 0 } = {},
): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, n) => `vm-${n}`);
  const vm = { node: NODE, memory, terminationGracePeriodSeconds: 1 };
  const strategyOf = (n: number) => (n < count - external ? "LiveMigrate" : "External");
  await Promise.all(names.map((name, n) => stage.createVm({ name, evictionStrategy: strategyOf(n), ...vm })));
  for (const name of ["empty-1", "empty-2"]) await createNode(stage.client, name, { memory: "64Gi" });
  hurry();
  return names.toSorted();
}

export async function preempt(
  { stage }: Scene,
  name: string,
  memory: string,
  { node = NODE, ...more }: { readonly node?: string; readonly podGroup?: string } = {},
): Promise<void> {
  const nodeSelector = { "kubernetes.io/hostname": node };
  const pod = { priorityClassName: CLASS, requests: { memory }, nodeSelector, ...more };
  await createPod(stage.client, { namespace: NAMESPACE, name, ...pod });
}

/**
 * Waits until a preempting pod runs. Sometimes the scheduler retries the pod only when another pod is deleted, so this
 * function creates and deletes pods.
 */
export async function untilPreempted(scene: Scene, name: string): Promise<void> {
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

export const taint = ({ stage }: Scene, taints: readonly object[]) =>
  stage.client.patch(nodes, { name: NODE }, { type: "merge", body: { spec: { taints } } });
export const MAINTENANCE = [{ key: "maintenance", effect: "NoExecute" }];

/**
 * Returns the pods that the taint manager still tries to delete, because it has not noticed the removal of the taint
 * yet.
 */
export async function stillAsked({ stage, reviews }: Scene, since: number): Promise<readonly string[]> {
  const isTold = (pod: string) =>
    reviews.some((one) => one.pod === pod && one.at > since && one.retryAfterSeconds === undefined);
  const { items } = await stage.client.list(pods, NAMESPACE, { fieldSelector: `spec.nodeName=${NODE}` });
  const staying = items.filter(({ status }) => status?.phase === "Running");
  return staying.map(({ metadata }) => `${NAMESPACE}/${metadata.name}`).filter((pod) => !isTold(pod));
}

type Vmi = kubevirt.VirtualMachineInstance;

export async function namesOf({ stage }: Scene, isWanted: (vmi: Vmi) => boolean): Promise<readonly string[]> {
  const { items } = await stage.client.list(kubevirt.virtualMachineInstances, NAMESPACE);
  return items
    .filter(isWanted)
    .map(({ metadata }) => metadata.name)
    .toSorted();
}

export const isRunning = ({ status }: Vmi) => status?.phase === "Running";
export const isMarked = ({ status }: Vmi) => status?.evacuationNodeName !== undefined;
export const moved = (scene: Scene) => namesOf(scene, hasSettledAwayFrom(NODE));

export async function evacuationsBut({ stage }: Scene, phases: readonly string[]) {
  const { items } = await stage.client.list(evacuations, NAMESPACE);
  return items.filter(({ status }) => !phases.includes(status?.phase ?? ""));
}

export const eventually = <T>({ expect: ofTest }: Scene, of: () => Promise<T>) =>
  ofTest.poll(of, { timeout: TIMEOUT_MS, interval: 200 });

function most(all: readonly Review[], ms: number): number {
  return Math.max(...all.map(({ at }) => all.filter((other) => other.at >= at && other.at < at + ms).length));
}

/** Expects that each requester retries only as often as Lifeboat allows. */
export function expectFewRequests({ reviews }: Scene, requesters = 1): void {
  for (const [pod, all] of Map.groupBy(reviews, (one) => one.pod)) {
    expect([pod, Math.max(MOST_A_MINUTE * requesters, most(all, 60_000))]).toEqual([pod, MOST_A_MINUTE * requesters]);
    expect([pod, Math.max(MOST_AT_ONCE * requesters, most(all, MOMENT_MS))]).toEqual([pod, MOST_AT_ONCE * requesters]);
  }
}

/**
 * Returns the number of seats that the requesters' priority level uses at the API server. A simulated API server has no
 * seats.
 */
export async function seats({ stage }: Scene): Promise<number> {
  const { body } = await stage.client.raw({ method: "GET", path: "/metrics" });
  return [...messageOf(body).matchAll(SEATS)].reduce((sum, [, count]) => sum + Number(count), 0);
}
