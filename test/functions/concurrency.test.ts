/**
 * Many isolates at once over one cluster. Fast-check decides whose request is answered next; any isolate may be killed between
 * two of its requests. What is always true in the end. The same interleavings every time.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { reconciling } from "../../functions/carry-on.ts";
import { isActive } from "../../shared/policy/evacuation/phase.ts";
import type { EvacuationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { reconcileActive, reconcileAll, reconcileVmi } from "../../shared/pass/pass.ts";
import type { Deps, Result } from "../../shared/pass/perform.ts";
import { type Before, interleaved } from "../fake-cluster/connect.ts";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import { at, evacuation, migration, newborn, NODE, node, pod, POD_UID, time, vmi } from "../policy/fixtures.ts";
import { type FakeDoors, objectOf, openFakeDoors } from "./support/fake-doors.ts";
import { deletionOf, evictionOf } from "./support/reviews.ts";

const WEB = { namespace: "apps", name: "web" };

/** KubeVirt's controller migrates. No budgets: they do not take part. */
function withVm(tweak: Partial<VmiFacts> = {}): FakeCluster {
  const fake = new FakeCluster();
  fake.configure({ reconcilers: { budget: "Disabled" }, evacuation: { adoptSeconds: 3600, maxAttempts: 99 } });
  fake.pods.put(pod());
  fake.vmis.put(vmi(tweak));
  return fake;
}

const markOf = (fake: FakeCluster) => fake.vmis.get(WEB)?.evacuationNodeName;
const all = (fake: FakeCluster): readonly EvacuationFacts[] => fake.evacuations.list();

/** What an isolate does, or KubeVirt, or a person. */
type Task = (doors: FakeDoors, fake: FakeCluster, turn: () => Promise<void>) => Promise<unknown>;

const evict: Task = async (doors) => {
  await doors.evict(evictionOf(pod()));
  await doors.settle();
};
const passing =
  (pass: (deps: Deps) => Promise<Result>): Task =>
  (doors) =>
    reconciling(doors.target, 20, pass);
const look = passing((deps) => reconcileVmi(WEB, deps));
const tick = passing(reconcileActive);
const scan = passing(reconcileAll);
const mark =
  (evacuationNodeName: string | undefined): Task =>
  async (_, fake, turn) => {
    await turn();
    fake.setMark(WEB, evacuationNodeName);
  };
const byHand =
  (name: string): Task =>
  async (_, fake, turn) => {
    await turn();
    const spec = { vmiName: "web", cause: "Operator", requestedBy: "jane", intent: "Evacuate" } as const;
    fake.createEvacuation({ namespace: "apps", name, spec });
  };
/** KubeVirt's controllers, one migration after another. The VMI shows a move some moments after the migration does. */
const migrate =
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

const preempted = pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since: time(0) } });
const preempt: Task = async (doors) => {
  await doors.delete(deletionOf(objectOf(preempted)));
  await doors.settle();
};

const LOOKS = fc.constantFrom(look, tick, scan);
const BEGINNINGS = fc.constantFrom(evict, evict, look, scan, mark(NODE));

interface Isolate {
  readonly task: Task;
  /** It is killed before the next one. */
  readonly requests: number;
}

/** Up to four, some of which are killed, beside tasks that are not. */
function some(task: fc.Arbitrary<Task>, ...beside: readonly Task[]): fc.Arbitrary<readonly Isolate[]> {
  const requests = fc.option(fc.nat(12), { nil: Infinity });
  const mortal = fc.array(fc.record({ task, requests }), { minLength: 1, maxLength: 4 });
  return mortal.map((isolates) => [...beside.map((one) => ({ task: one, requests: Infinity })), ...isolates]);
}

async function run({ task, requests }: Isolate, fake: FakeCluster, before: Before): Promise<void> {
  const death = Promise.withResolvers<void>();
  let left = requests;
  const doors = openFakeDoors(fake, async (request) => {
    left -= 1;
    if (left >= 0) return await before(request);
    death.resolve();
    return await new Promise<never>(() => undefined);
  });
  await Promise.race([task(doors, fake, async () => void (await before("turn"))), death.promise]);
}

/** What is never so, not even for a moment: a mark for a node that the VM has left, an end that is not final. */
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

async function always(
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
  await fc.assert(property, { seed: 20_261_122, numRuns: 400 });
}

/** Full scans alone, until nothing is left to be done. */
async function settle(fake: FakeCluster): Promise<void> {
  const written = () => JSON.stringify([all(fake), fake.vmis.list(), fake.migrations.list()]);
  for (let i = 0; i < 10; i++) {
    const before = written();
    await run({ task: scan, requests: Infinity }, fake, () => undefined);
    if (written() === before) return;
  }
  throw new Error("it does not come to rest");
}

function phases(fake: FakeCluster): readonly (string | undefined)[] {
  return all(fake).map(({ status }) => status.phase);
}

describe("functions that begin the same evacuation", () => {
  test("make one Evacuation and mark, also if either write is lost", async () => {
    let lost = 0;
    await always(some(BEGINNINGS), withVm, async (fake) => {
      if ((all(fake).length === 0) !== (markOf(fake) === undefined)) lost += 1;
      await settle(fake);
      expect(phases(fake)).toEqual(markOf(fake) === undefined ? [] : ["Pending"]);
    });
    expect(lost).toBeGreaterThan(10);
  });

  test("and a person who names another one: the oldest goes on, the others end as Duplicate", async () => {
    let two = 0;
    const tasks = fc.oneof(BEGINNINGS, fc.constantFrom(byHand("a-by-hand"), byHand("z-by-hand")));
    await always(some(tasks, byHand("m-by-hand")), withVm, async (fake) => {
      await settle(fake);
      const byAge = all(fake).toSorted((a, b) => a.createdAt - b.createdAt);
      expect(markOf(fake)).toBe(NODE);
      expect(byAge.map(({ status }) => status.phase)).toEqual(["Pending", ...byAge.slice(1).map(() => "Duplicate")]);
      two += byAge.length - 1;
    });
    expect(two).toBeGreaterThan(100);
  });
});

function underWay(): FakeCluster {
  const fake = withVm({ evacuationNodeName: NODE });
  fake.evacuations.put(evacuation());
  return fake;
}

describe("an evacuation under way", () => {
  // prettier-ignore
  test.each<[string, Task, end: unknown]>([
    ["is withdrawn when its mark is removed, and no old look marks again", mark(undefined),                     { phase: "Withdrawn", reason: "MarkWithdrawn", attempts: 0 }],
    ["ends as Moved, and nothing begins another one",                      migrate("Succeeded"),                { phase: "Moved", reason: "Moved", attempts: 0 }],
    ["counts every failed migration once",                                 migrate("Failed", "Failed", "Failed"), { phase: "BackingOff", reason: "MigrationFailed", attempts: 3 }],
  ])("%s", async (_, task, end) => {
    await always(some(LOOKS, task), underWay, async (fake) => {
      await settle(fake);
      expect(all(fake)).toMatchObject([{ name: evacuation().name, status: end }]);
      expect(markOf(fake)).toBe(all(fake)[0]?.status.phase === "BackingOff" ? NODE : undefined);
    });
  });

  test("that is asked for again while it ends: what old looks begin ends as Moved too", async () => {
    await always(some(fc.constantFrom(evict, look, tick, scan), migrate("Succeeded")), underWay, async (fake) => {
      await settle(fake);
      expect(new Set(phases(fake))).toEqual(new Set(["Moved"]));
      expect(markOf(fake)).toBeUndefined();
    });
  });
});

test("of a disruption that is held, every look knows the cause and the deadline: none takes its mark for KubeVirt's", async () => {
  const from = () => {
    const fake = withVm();
    fake.configure({ featureGates: { PreemptionEvictionLiveMigration: true }, reconcilers: { budget: "Disabled" } });
    fake.nodes.put(node());
    fake.pods.put(preempted);
    return fake;
  };
  let begun = 0;
  await always(some(fc.constantFrom(preempt, look, tick, scan), preempt), from, async (fake) => {
    await settle(fake);
    expect(all(fake).filter(({ spec }) => spec.cause !== "Preemption" || spec.deadline !== time(120))).toEqual([]);
    begun += all(fake).length;
  });
  expect(begun).toBeGreaterThan(100);
});

const pending = migration({ phase: "Pending", evacuates: NODE });
const resting = { attempts: 99, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;

function is(...subjects: readonly EvacuationFacts[]) {
  return (fake: FakeCluster) => fake.evacuations.put(...subjects);
}

// prettier-ignore
const SITUATIONS: readonly (readonly [what: string, (fake: FakeCluster) => void])[] = [
  ["a mark",                 (fake) => fake.evacuations.delete(evacuation())],
  ["an Evacuation",          is(newborn())],
  ["two of them",            is(newborn({ name: "by-hand", uid: "2", createdAt: 0 }))],
  ["cancelled",              is(evacuation({ spec: { intent: "Withdrawn" } }))],
  ["the mark was removed",   (fake) => fake.setMark(WEB, undefined)],
  ["given up",               is(evacuation({ status: resting }))],
  ["between two attempts",   is(evacuation({ status: { ...resting, attempts: 1, nextAttemptTime: time(900) } }))],
  ["an attempt failed",      (fake) => fake.migrations.put({ ...pending, phase: "Failed" })],
  ["strategy None",          (fake) => fake.change(WEB, { evictionStrategy: "None" })],
  ["moved, a label is left", (fake) => fake.change(WEB, { nodeName: "node02", evacuationLabel: "urgent" })],
  ["it ended",               (fake) => fake.change(WEB, { phase: "Failed" })],
];

describe("a function that is killed between any two requests leads to the same end", () => {
  test.each(SITUATIONS)("%s", async (_, change) => {
    const endAfter = async (requests: number) => {
      const fake = underWay();
      fake.migrations.put(pending);
      change(fake);
      await run({ task: look, requests }, fake, () => undefined);
      await settle(fake);
      const told = all(fake).map(({ name, status }) => [name, status.phase, status.reason, status.attempts]);
      return { told, mark: markOf(fake), migrations: fake.migrations.list().map(({ name }) => name) };
    };
    const undisturbed = await endAfter(Infinity);
    for (let requests = 0; requests < 24; requests++) expect(await endAfter(requests)).toEqual(undisturbed);
  });
});
