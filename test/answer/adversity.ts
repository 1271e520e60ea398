/**
 * Runs one VM's evacuation from start to end, and lets one request fail. In each round, a person or the control plane
 * sends a request, a tick runs, and KubeVirt takes a step. The functions share no state.
 */
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { isUnfinished } from "../../shared/kube/evacuation.ts";
import { retryVm } from "../../shared/act/evacuate-vm.ts";
import { type Disturbance, Disturbed, type Watching } from "./disturbance.ts";
import { budget, node, pod, POD_UID, time, vmi } from "../support/fixtures.ts";
import { FakeCluster } from "../support/cluster.ts";
import type { App } from "../support/app.ts";
import { podObject } from "../support/cluster/pods-and-nodes.ts";
import { KubeVirt, type Moves } from "../support/cluster/kubevirt.ts";
import { reviewBeside } from "../support/cluster/parties.ts";
import { deletionOf, evictionOf } from "../support/reviews.ts";
import { isFinal } from "../../shared/kube/objects.ts";

export const WEB = { namespace: "apps", name: "web" };
const POD = pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since: time(0) } });

export interface Flow extends Moves {
  readonly name: string;
  readonly configuration?: object;
  readonly asks: "evicts" | "deletes";
  /** From `round` on, the person cancels or retries the Evacuation in each round, until this succeeds. */
  readonly person?: { readonly round: number; readonly does: "cancels" | "retries" };
  /** The number of rounds in which a client tries to evict or delete the pod. */
  readonly rounds?: number;
  readonly end: { readonly node: string; readonly phases: readonly string[] };
}

const MOVES = { outcomes: [], evacuates: true } as const;
const MOVED = { node: "node02", phases: ["Moved"] } as const;

// prettier-ignore
export const FLOWS: readonly Flow[] = [
  { name: "a drain",                                  ...MOVES, asks: "evicts",  end: MOVED },
  { name: "a preemption",                             ...MOVES, asks: "deletes", end: MOVED },
  { name: "a drain that Lifeboat migrates",           ...MOVES, evacuates: false, configuration: { evacuation: { adoptSeconds: 0, maxAttempts: 2 } }, asks: "evicts", end: MOVED },
  { name: "a drain that a person cancels",            ...MOVES, isFull: true, asks: "evicts", rounds: 3, person: { round: 3, does: "cancels" }, end: { node: "node01", phases: ["Withdrawn"] } },
  { name: "a drain that continues after a cancel",      ...MOVES, asks: "evicts", person: { round: 1, does: "cancels" }, end: { node: "node02", phases: ["Moved", "Withdrawn"] } },
  { name: "a drain whose attempts all fail",     outcomes: ["Failed", "Failed"], evacuates: true, asks: "evicts", rounds: 4, end: { node: "node01", phases: ["Abandoned"] } },
  { name: "a failed attempt that a person retries",   outcomes: ["Failed"], evacuates: false, configuration: { evacuation: { adoptSeconds: 0, maxAttempts: 3, backoffSeconds: 200 } }, asks: "evicts", rounds: 2, person: { round: 6, does: "retries" }, end: MOVED },
];

const ROUND_SECONDS = 5;
const ROUNDS = 14;
const MINUTES = 12;

function given(configuration: object = {}): FakeCluster {
  const fake = new FakeCluster();
  fake.configure({
    disruptionBudgets: "Always",
    featureGates: { PreemptionEvictionLiveMigration: true },
    evacuation: { adoptSeconds: 30, maxAttempts: 2 },
    ...configuration,
  });
  fake.nodes.put(node(), node({ name: "node02" }));
  fake.vmis.put(vmi());
  fake.pods.put(POD);
  fake.budgets.put(budget());
  return fake;
}

/**
 * Runs a flow. Returns the number of requests of each kind. If a request fails, counts only the requests until the
 * evacuation ends. `watching` selects the state of the cluster that the watches show.
 */
export async function run(
  flow: Flow,
  disturbance?: Disturbance,
  watching?: Watching,
): Promise<ReadonlyMap<string, number>> {
  const fake = given(flow.configuration);
  const kubeVirt = new KubeVirt(fake, WEB, flow);
  const course = new Disturbed(fake, disturbance, watching);
  const { rounds = ROUNDS, person: { round: personRound } = { round: Infinity } } = flow;
  let isDone = false;
  const act = async () => {
    if (!isDone) await course.isolate(async (app) => (isDone = await personally(flow, app).catch(() => false)));
  };
  const pass = async (seconds: number) => {
    await course.reconcile(seconds > ROUND_SECONDS);
    await course.report(WEB);
    kubeVirt.step(course.now);
    course.seconds += seconds;
  };
  const isOver = () => course.isDisturbed && isDeepStrictEqual(endOf(fake), expectedOf(flow));
  for (let round = 0; round < ROUNDS + MINUTES && !isOver(); round++) {
    course.remember();
    if (round < rounds) await course.isolate((app) => ask(flow, app, fake));
    if (round >= personRound) await act();
    await pass(round < ROUNDS ? ROUND_SECONDS : 60);
  }
  // Later reconciles must not change the result.
  await pass(600);
  expect(course.isDisturbed, "there is such a request").toBe(disturbance !== undefined);
  if (disturbance?.isLasting === true) expectSaved(flow, fake, disturbance.request.label);
  else expect(endOf(fake)).toEqual(expectedOf(flow));
  return course.requests;
}

function isAlive(fake: FakeCluster): boolean {
  const found = fake.vmis.get(WEB);
  return found !== undefined && !isFinal(found) && POD_UID in found.activePods;
}

/**
 * Sends a review as the API server does. Ignores a failed review, because the API server then applies the
 * failurePolicy.
 */
async function ask({ asks }: Flow, app: App, fake: FakeCluster): Promise<void> {
  if (fake.pods.get(POD)?.phase !== "Running") return;
  const isEviction = asks === "evicts";
  const review = isEviction ? evictionOf(POD) : deletionOf(podObject(POD));
  // The API server calls KubeVirt's webhook at the same time.
  if (isEviction) reviewBeside(fake, review);
  const { code, text } = await (isEviction ? app.evict(review) : app.delete(review));
  // If Lifeboat cannot read the facts, the review fails, and a policy in the API server refuses the deletion.
  if (!isEviction) expect([200, 502, 503, 504]).toContain(code);
  if (code === 200 && text.includes('"allowed":true')) expect(isAlive(fake), `a VM was lost: ${text}`).toBe(false);
}

async function personally({ person }: Flow, app: App): Promise<boolean> {
  if (person?.does === "cancels") return (await app.cancel(WEB)).result !== "DrainTaint";
  const cluster = app.target.connect(10);
  const { result } = await retryVm(WEB, { requestedBy: "jane", cluster, now: app.now() });
  return result === "Joined" || result === "Started";
}

/** If one of these requests always fails, Lifeboat does not evacuate the VM. */
const NEEDED =
  /^(?:list kubevirts|get lifeboatconfigurations|get virtualmachineinstances|get nodes|list pods|create pods\/eviction)/;

/** A review of a deletion succeeds even if this request always fails. */
const OF_VMI = /^list pods kubevirt.io\/created-by/;

function expectSaved({ end, asks }: Flow, fake: FakeCluster, label: string): void {
  const { phase, nodeName } = fake.vmis.get(WEB) ?? {};
  const isNeeded = NEEDED.test(label) && !(asks === "deletes" && OF_VMI.test(label));
  expect(phase).toBe("Running");
  expect(nodeName).toBe(isNeeded ? "node01" : end.node);
}

function endOf(fake: FakeCluster): object {
  const found = fake.vmis.get(WEB);
  const evacuations = fake.evacuations.list();
  return {
    guest: [found?.phase, found?.nodeName],
    mark: found?.evacuationNodeName,
    label: found?.evacuationLabel,
    migrations: fake.migrations.list((m) => !isFinal(m)),
    phases: new Set(evacuations.map(({ status }) => status.phase).filter((phase) => phase !== "Duplicate")),
    unfinished: evacuations.filter(isUnfinished).map(({ name }) => name),
    budgets: fake.budgets.list().map(({ minAvailable }) => minAvailable),
  };
}

function expectedOf({ end }: Flow): object {
  const none = { mark: undefined, label: undefined, migrations: [], unfinished: [] };
  return { guest: ["Running", end.node], ...none, phases: new Set(end.phases), budgets: [2] };
}
