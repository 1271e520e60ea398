/**
 * One VM's evacuation from its beginning to its end, in which one request goes wrong: each round what people and the control plane ask for, a
 * tick, and a step of KubeVirt's, by functions that know nothing of each other.
 */
import { expect } from "vitest";
import { reconcileWithin } from "../../functions/reconcile.ts";
import { isUnfinished } from "../../shared/kube/evacuation.ts";
import { isFinal } from "../../shared/kube/facts.ts";
import { ClusterError } from "../../shared/kube/failures.ts";
import { retryVm } from "../../shared/evacuation/api.ts";
import { reconcileActive, reconcileAll } from "../../shared/reconcile/reconcile.ts";
import { budget, node, NOW, pod, POD_UID, time, vmi } from "../support/fixtures.ts";
import type { Asked } from "../support/asked.ts";
import { type Before, failure } from "../support/fake-api.ts";
import { FakeCluster } from "../support/fake-cluster.ts";
import { type FakeDoors, objectOf, openFakeDoors } from "../support/fake-doors.ts";
import { KubeVirt, type Moves } from "../support/kubevirt.ts";
import { reviewBeside } from "../support/parties.ts";
import { deletionOf, evictionOf } from "../support/reviews.ts";

export const WEB = { namespace: "apps", name: "web" };
const POD = pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since: time(0) } });

export interface Flow extends Moves {
  readonly name: string;
  readonly configuration?: object;
  /** What is asked for in each round until the VM has left its pod. */
  readonly asks: "evicts" | "deletes";
  /** What a person asks for besides, from that round on until it has been done. */
  readonly person?: { readonly round: number; readonly does: "cancels" | "retries" };
  /** Nothing is asked for after so many rounds. */
  readonly rounds?: number;
  readonly end: { readonly node: string; readonly phases: readonly string[] };
}

/** What becomes of one request; it may have had its effect all the same. */
export type Fault = (asked: Asked, course: Course) => Response | Promise<never>;
const never = () => new Promise<never>(() => undefined);
const lost = (): Promise<never> => Promise.reject(new TypeError("fetch failed"));

export const refusal =
  (code: number, reason: string): Fault =>
  () => {
    const { body } = failure(code, reason);
    return Response.json(body, { status: code });
  };

export const WRITE_FAULTS: Readonly<Record<string, Fault>> = {
  "is refused: 403": refusal(403, "Forbidden"),
  "is refused: 409": refusal(409, "Conflict"),
  "is refused: 422": refusal(422, "Invalid"),
  "is refused: 429": refusal(429, "TooManyRequests"),
  "never arrives": lost,
  "is done, and its answer is lost": (asked, { fake }) => {
    fake.api.answer(asked);
    return lost();
  },
  "is done, and the function dies after it": (asked, { fake, die }) => {
    fake.api.answer(asked);
    die();
    return never();
  },
};

export const READ_FAULTS: Readonly<Record<string, Fault>> = {
  "is forbidden": refusal(403, "Forbidden"),
  // A connection that breaks costs a read nothing.
  "gets no answer in time": () => Promise.reject(new ClusterError({ reason: "DeadlineExceeded" })),
  // But for the VMI: rules rely on its being read after the Evacuations.
  "is as old as the round before": (asked, { fake, before }) => {
    const isVmi = asked.label === "get virtualmachineinstances";
    const { code, body } = fake.api.at(isVmi ? fake.api.snapshot() : before, () => fake.api.answer(asked));
    return Response.json(body, { status: code });
  },
  // But for migrations: among those is what an end takes back.
  "is an empty list": (asked, { fake }) => {
    const { code, body } = fake.api.answer(asked);
    const isEmpty = asked.verb === "list" && asked.resource !== "virtualmachineinstancemigrations";
    return Response.json(isEmpty ? { kind: "List", metadata: {}, items: [] } : body, { status: code });
  },
};

export interface Course {
  readonly fake: FakeCluster;
  readonly die: () => void;
  /** The cluster as it was a round ago. */
  readonly before: ReturnType<FakeCluster["api"]["snapshot"]>;
}

const ROUND_SECONDS = 5;
const ROUNDS = 14;
/** Of reconciles that nothing disturbs any more, a minute apart. */
const MINUTES = 12;

export interface Disturbance {
  readonly isWrite: boolean;
  /** Which one of them, from 1 on. */
  readonly at: number;
  readonly fault: Fault;
  /** From then on every such request goes wrong. */
  readonly isLasting?: boolean;
}

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

/** Undefined: there is no such request in the course of it. */
export async function run(
  flow: Flow,
  { isWrite, at, fault, isLasting = false }: Disturbance,
): Promise<string | undefined> {
  const fake = given(flow.configuration);
  const kubeVirt = new KubeVirt(fake, WEB, flow);
  let [count, seconds, isDone] = [0, 0, flow.person === undefined];
  const asks = new Map<string, number>();
  let label: string | undefined;
  let [last, before] = [fake.api.snapshot(), fake.api.snapshot()];
  const isolate = async (work: (app: FakeDoors) => Promise<unknown>) => {
    const death = Promise.withResolvers<void>();
    let isDead = false;
    const die = () => {
      isDead = true;
      death.resolve();
    };
    const disturb: Before = (_, asked) => {
      if (isDead) return never();
      if (asked === undefined || (asked.verb !== "get" && asked.verb !== "list") !== isWrite) return undefined;
      const times = (asks.get(asked.label) ?? 0) + 1;
      asks.set(asked.label, times);
      // Of reads of a kind the first and the third.
      if (!isWrite && times !== 1 && times !== 3) return undefined;
      count += 1;
      if (count !== at && !(isLasting && asked.label === label)) return undefined;
      label = asked.label;
      return fault(asked, { fake, die, before });
    };
    const app = openFakeDoors(fake, disturb);
    app.pass(seconds);
    const working = work(app).then(() => app.settle());
    await Promise.race([working, death.promise]);
    expect(app.log.filter(({ message }) => message === "unexpected error")).toEqual([]);
  };
  for (let round = 0; round < ROUNDS; round++) {
    [before, last] = [last, fake.api.snapshot()];
    if (round < (flow.rounds ?? ROUNDS)) await isolate((app) => ask(flow, app, fake));
    if (!isDone && round >= (flow.person?.round ?? 0)) {
      await isolate(async (app) => {
        isDone = await personally(flow, app).catch(() => false);
      });
    }
    await isolate((app) => reconcileWithin(app.target, 20, reconcileActive).catch(() => undefined));
    kubeVirt.step(new Date(NOW.getTime() + seconds * 1000));
    seconds += ROUND_SECONDS;
  }
  for (let minute = 0; minute < MINUTES; minute++) {
    if (!isDone) await isolate(async (app) => (isDone = await personally(flow, app).catch(() => false)));
    await isolate((app) => reconcileWithin(app.target, 60, reconcileAll, { fresh: true }).catch(() => undefined));
    kubeVirt.step(new Date(NOW.getTime() + seconds * 1000));
    seconds += 60;
  }
  if (isLasting) expectSaved(flow, fake, label);
  else expectEnd(flow, fake);
  return label;
}

/** Whether the guest runs in the pod that is to go. */
function isAlive(fake: FakeCluster): boolean {
  const found = fake.vmis.get(WEB);
  return found !== undefined && !isFinal(found) && POD_UID in found.activePods;
}

/** As the API server asks its webhooks. One that fails, or dies, does not count: that is what their failurePolicy is for. */
async function ask({ asks }: Flow, app: FakeDoors, fake: FakeCluster): Promise<void> {
  if (fake.pods.get(POD)?.phase !== "Running") return;
  const isEviction = asks === "evicts";
  const review = isEviction ? evictionOf(POD) : deletionOf(objectOf(POD));
  // KubeVirt's own webhook is asked at the same time.
  if (isEviction) reviewBeside(fake, review);
  const { code, text } = await (isEviction ? app.evict(review) : app.delete(review));
  if (!isEviction) expect(code, "the guard never fails: its policy is Ignore").toBe(200);
  if (code === 200 && text.includes('"allowed":true')) expect(isAlive(fake), `a VM was lost: ${text}`).toBe(false);
}

/** Whether it has been done. */
async function personally({ person }: Flow, app: FakeDoors): Promise<boolean> {
  if (person?.does === "cancels") return (await app.cancel(WEB)).result !== "DrainTaint";
  const cluster = app.target.connect(10);
  const { result } = await retryVm(WEB, { requestedBy: "jane", cluster, now: app.now() });
  return result === "Joined" || result === "Started";
}

/** Without KubeVirt's mark there is nothing that could move it. */
function expectSaved({ end }: Flow, fake: FakeCluster, label: string | undefined): void {
  const { phase, nodeName } = fake.vmis.get(WEB) ?? {};
  expect(phase).toBe("Running");
  if (label !== "create pods/eviction") expect(nodeName).toBe(end.node);
}

function expectEnd({ end }: Flow, fake: FakeCluster): void {
  const found = fake.vmis.get(WEB);
  const [evacuations, migrations] = [fake.evacuations.list(), fake.migrations.list((m) => !isFinal(m))];
  const phases = new Set(evacuations.map(({ status }) => status.phase));
  phases.delete("Duplicate");
  expect({
    guest: [found?.phase, found?.nodeName],
    mark: found?.evacuationNodeName,
    label: found?.evacuationLabel,
    migrations,
    phases: [...phases].toSorted(),
    unfinished: evacuations.filter(isUnfinished).map(({ name }) => name),
    budgets: fake.budgets.list().map(({ minAvailable }) => minAvailable),
  }).toEqual({
    guest: ["Running", end.node],
    mark: undefined,
    label: undefined,
    migrations: [],
    phases: end.phases,
    unfinished: [],
    budgets: [2],
  });
}
