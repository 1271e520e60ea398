/**
 * Runs several instances (isolates) of the Worker on one fake cluster, while KubeVirt's controllers and users change
 * the cluster. fast-check interleaves the isolates, and can kill an isolate at any request.
 */
import * as fc from "fast-check";
import { expect } from "vitest";
import { reconcileWithin } from "../../../../functions/reconcile.ts";
import { type EvacuationFacts, isActive } from "../../../../shared/kube/evacuation.ts";
import type { VmiFacts } from "../../../../shared/kube/facts.ts";
import { reconcileActive, reconcileAll, reconcileVmi } from "../../../../shared/reconcile/reconcile.ts";
import type { Deps, Result } from "../../../../shared/reconcile/carry-out.ts";
import { type Before, FakeCluster, interleaved } from "../../../support/cluster.ts";
import { podObject } from "../../../support/cluster/pods-and-nodes.ts";
import { at, migration, NODE, pod, POD_UID, time, vmi } from "../../../support/fixtures.ts";
import { type App, openApp } from "../../../support/app.ts";
import { deletionOf, evictionOf } from "../../../support/reviews.ts";

export const WEB = { namespace: "apps", name: "web" };

/** Creates a cluster in which KubeVirt's controller migrates VMs. Lifeboat creates no PodDisruptionBudgets. */
export function withVm(tweak: Partial<VmiFacts> = {}): FakeCluster {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never", evacuation: { adoptSeconds: 3600, maxAttempts: 99 } });
  fake.pods.put(pod());
  fake.vmis.put(vmi(tweak));
  return fake;
}

export const markOf = (fake: FakeCluster) => fake.vmis.get(WEB)?.evacuationNodeName;
export const all = (fake: FakeCluster): readonly EvacuationFacts[] => fake.evacuations.list();

export type Task = (app: App, fake: FakeCluster, turn: () => Promise<void>) => Promise<unknown>;

export const evict: Task = async (app) => {
  await app.evict(evictionOf(pod()));
  await app.settle();
};
const passing =
  (pass: (deps: Deps) => Promise<Result>): Task =>
  (app) =>
    reconcileWithin(app.target, 20, pass);
export const reconcileOnce = passing((deps) => reconcileVmi(WEB, deps));
export const tick = passing(reconcileActive);
export const scan = passing(reconcileAll);
export const mark =
  (evacuationNodeName: string | undefined): Task =>
  async (_, fake, turn) => {
    await turn();
    fake.setMark(WEB, evacuationNodeName);
  };
export const byHand =
  (name: string): Task =>
  async (_, fake, turn) => {
    await turn();
    const spec = { vmiName: "web", cause: "Operator", requestedBy: "jane", intent: "Evacuate" } as const;
    fake.createEvacuation({ namespace: "apps", name, spec });
  };
/** Runs KubeVirt's migrations in sequence. The VMI's status changes after the migration's status. */
export const migrate =
  (...outcomes: readonly ("Succeeded" | "Failed")[]): Task =>
  async (_, fake, turn) => {
    for (const [i, outcome] of outcomes.entries()) {
      const of = migration({ name: `m${i}`, uid: `m${i}`, evacuates: NODE, createdAt: at(i - 20).getTime() });
      for (const phase of ["Pending", "Running", outcome]) {
        await turn();
        fake.migrations.put({ ...of, phase, targetNode: "node02" });
      }
      await turn();
      if (outcome === "Failed") continue;
      fake.change(WEB, { nodeName: "node02", activePods: { [POD_UID]: NODE, target: "node02" } });
      fake.setMark(WEB, undefined);
    }
  };

export const PREEMPTED = pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since: time(0) } });
export const preempt: Task = async (app) => {
  await app.delete(deletionOf(podObject(PREEMPTED)));
  await app.settle();
};

interface Isolate {
  readonly task: Task;
  /** The number of requests before the isolate is killed. */
  readonly requests: number;
}

/** Draws one to four isolates that can be killed. Adds one isolate that is never killed for each task of `beside`. */
export function some(task: fc.Arbitrary<Task>, ...beside: readonly Task[]): fc.Arbitrary<readonly Isolate[]> {
  const requests = fc.option(fc.nat(12), { nil: Infinity });
  const mortal = fc.array(fc.record({ task, requests }), { minLength: 1, maxLength: 4 });
  return mortal.map((isolates) => [...beside.map((one) => ({ task: one, requests: Infinity })), ...isolates]);
}

export async function run({ task, requests }: Isolate, fake: FakeCluster, before: Before): Promise<void> {
  const death = Promise.withResolvers<void>();
  let left = requests;
  const app = openApp(fake, async (request) => {
    left -= 1;
    if (left >= 0) return await before(request);
    death.resolve();
    return await new Promise<never>(() => undefined);
  });
  const defects = () => app.log.filter(({ message }) => message === "unexpected error");
  await Promise.race([task(app, fake, async () => void (await before("turn"))), death.promise]);
  expect(defects()).toEqual([]);
}

/**
 * Records states that must never occur: an evacuationNodeName that differs from the VM's node, or an Evacuation whose
 * final phase changes.
 */
function watch(fake: FakeCluster): () => readonly string[] {
  const ends = new Map<string, string | undefined>();
  const wrong: string[] = [];
  return () => {
    const { nodeName, evacuationNodeName = nodeName } = fake.vmis.get(WEB) ?? {};
    if (evacuationNodeName !== nodeName) wrong.push(`on ${nodeName}, marked for ${evacuationNodeName}`);
    for (const e of all(fake)) {
      const { phase } = e.status;
      if ((ends.get(e.uid) ?? phase) !== phase) wrong.push(`${e.name} is ${phase} after ${ends.get(e.uid)}`);
      if (!isActive(e)) ends.set(e.uid, phase);
    }
    return wrong;
  };
}

export async function always(
  isolates: fc.Arbitrary<readonly Isolate[]>,
  from: () => FakeCluster,
  holds: (fake: FakeCluster) => Promise<void> | void,
): Promise<void> {
  const property = fc.asyncProperty(fc.scheduler(), isolates, async (scheduler, ones) => {
    const fake = from();
    const [turn, wrong] = [interleaved(scheduler), watch(fake)];
    const before: Before = async (request) => {
      await turn(request);
      wrong();
    };
    await scheduler.waitFor(Promise.all(ones.map((one) => run(one, fake, before))));
    expect(wrong()).toEqual([]);
    await holds(fake);
  });
  await fc.assert(property, { seed: 20_261_122, numRuns: 150 });
}

/** Runs full scans until a scan changes nothing. */
export async function settle(fake: FakeCluster): Promise<void> {
  const written = () => JSON.stringify([all(fake), fake.vmis.list(), fake.migrations.list()]);
  for (let i = 0; i < 10; i++) {
    const before = written();
    await run({ task: scan, requests: Infinity }, fake, () => undefined);
    if (written() === before) return;
  }
  throw new Error("ten full scans have not settled the cluster");
}
