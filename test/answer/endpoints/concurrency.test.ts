/**
 * Runs several instances (isolates) of the Worker on one cluster at the same time. fast-check interleaves their
 * requests, and can kill an isolate between two requests. The tests check the invariants at the end. Each run uses the
 * same seed. The mark of a VM is the VMI's evacuationNodeName.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isToBeReleased, isUnfinished } from "../../../shared/kube/evacuation.ts";
import { type FakeCluster, once } from "../../support/cluster.ts";
import { endedEvacuation, evacuation, migration, NODE, node, NOW, time } from "../../support/fixtures.ts";
import {
  all,
  always,
  byHand,
  evict,
  reconcileOnce,
  mark,
  markOf,
  migrate,
  PREEMPTED,
  preempt,
  run,
  scan,
  settle,
  some,
  type Task,
  tick,
  withVm,
} from "./support/isolates.ts";

const PASSES = fc.constantFrom(reconcileOnce, tick, scan);
const BEGINNINGS = fc.constantFrom(evict, evict, reconcileOnce, scan, mark(NODE));

function phases(fake: FakeCluster): readonly (string | undefined)[] {
  return all(fake).map(({ status }) => status.phase);
}

describe("functions that start the same evacuation", () => {
  test("create one Evacuation and one mark, even if either write is lost", async () => {
    let lost = 0;
    await always(some(BEGINNINGS), withVm, async (fake) => {
      if ((all(fake).length === 0) !== (markOf(fake) === undefined)) lost += 1;
      await settle(fake);
      expect(phases(fake)).toEqual(markOf(fake) === undefined ? [] : ["Pending"]);
    });
    expect(lost).toBeGreaterThan(10);
  });

  test("beside a person's Evacuation keep the oldest, and the others end as Duplicate", async () => {
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

describe("an evacuation in progress", () => {
  // prettier-ignore
  test.each<[string, Task, end: unknown]>([
    ["is withdrawn when its mark is removed, and no stale reconcile marks again", mark(undefined),                     { phase: "Withdrawn", reason: "MarkWithdrawn", attempts: 0 }],
    ["ends as Moved, and no other evacuation starts",                             migrate("Succeeded"),                { phase: "Moved", reason: "Moved", attempts: 0 }],
    ["counts every failed migration once",                                        migrate("Failed", "Failed", "Failed"), { phase: "BackingOff", reason: "MigrationFailed", attempts: 3 }],
  ])("%s", async (_, task, end) => {
    await always(some(PASSES, task), underWay, async (fake) => {
      await settle(fake);
      expect(all(fake)).toMatchObject([{ name: evacuation().name, status: end }]);
      expect(markOf(fake)).toBe(all(fake)[0]?.status.phase === "BackingOff" ? NODE : undefined);
    });
  });

  test("that is requested again ends as Moved, and evacuations of stale reconciles also end as Moved", async () => {
    await always(
      some(fc.constantFrom(evict, reconcileOnce, tick, scan), migrate("Succeeded")),
      underWay,
      async (fake) => {
        await settle(fake);
        expect(new Set(phases(fake))).toEqual(new Set(["Moved"]));
        expect(markOf(fake)).toBeUndefined();
      },
    );
  });
});

function guarded(): FakeCluster {
  const fake = withVm();
  fake.configure({ featureGates: { PreemptionEvictionLiveMigration: true }, disruptionBudgets: "Never" });
  fake.nodes.put(node());
  fake.pods.put(PREEMPTED);
  return fake;
}

test("each evacuation of a refused preemption has the cause and the deadline, whichever function starts the evacuation", async () => {
  let started = 0;
  await always(some(fc.constantFrom(preempt, reconcileOnce, tick, scan), preempt), guarded, async (fake) => {
    await settle(fake);
    expect(all(fake).filter(({ spec }) => spec.cause !== "Preemption" || spec.deadline !== time(120))).toEqual([]);
    started += all(fake).length;
  });
  expect(started).toBeGreaterThan(100);
});

const pending = migration({ phase: "Pending", evacuates: NODE });

const untroubled = () => undefined;

describe("while an evacuation ends", () => {
  test("a tick that has read an old list of Evacuations keeps the mark and the migration of the next evacuation", async () => {
    const fake = underWay();
    fake.evacuations.put(evacuation({ spec: { intent: "Withdrawn" } }));
    const follows = once(/^get virtualmachineinstances$/, () => {
      fake.evacuations.put({ ...endedEvacuation("Withdrawn"), resourceVersion: "2" });
      fake.evacuations.put(evacuation({ name: "next", uid: "next", createdAt: NOW.getTime() }));
      fake.migrations.put(pending);
    });
    await run({ task: tick, requests: Infinity }, fake, follows);
    expect(markOf(fake)).toBe(NODE);
    expect(fake.migrations.list()).toHaveLength(1);
    expect(all(fake).filter(isUnfinished)).toMatchObject([{ name: "next" }]);
  });

  test("a new evacuation does not adopt the former mark, and does not end when the former mark is removed", async () => {
    const fake = underWay();
    fake.evacuations.put(evacuation({ spec: { intent: "Withdrawn" } }));
    const follows = async (request: string) => {
      if (request !== "update virtualmachineinstances/evacuate/cancel" || all(fake).length > 1) return;
      await run({ task: byHand("by-hand"), requests: Infinity }, fake, untroubled);
      await run({ task: reconcileOnce, requests: Infinity }, fake, untroubled);
    };
    await run({ task: reconcileOnce, requests: Infinity }, fake, follows);
    await settle(fake);
    expect(all(fake).map(({ name, status }) => [name, status.phase])).toEqual([
      ["by-hand", "Pending"],
      [evacuation().name, "Withdrawn"],
    ]);
    expect(markOf(fake)).toBe(NODE);
    expect(all(fake).filter(isToBeReleased)).toEqual([]);
  });

  test("a migration that has started since it was read is not aborted", async () => {
    const fake = underWay();
    fake.evacuations.put(evacuation({ spec: { intent: "Withdrawn" } }));
    fake.migrations.put(pending);
    const begins = once(/^delete virtualmachineinstancemigrations$/, () =>
      fake.migrations.put({ ...pending, phase: "Running", resourceVersion: "2" }),
    );
    await run({ task: tick, requests: Infinity }, fake, begins);
    expect(fake.migrations.list()).toMatchObject([{ phase: "Running", deleting: false }]);
    expect(all(fake).filter(isUnfinished)).toEqual([]);
  });
});
