/** Many functions at once, each of which may stall or be killed between any two steps: what is always true in the end. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EvacuationFacts, VmiFacts } from "../../../shared/policy/facts.ts";
import { isMarked } from "../../../shared/policy/evacuation/marked.ts";
import { isActive } from "../../../shared/policy/evacuation/phase.ts";
import { evacuation, migration, newborn, NODE, time } from "../fixtures.ts";
import {
  createByHand,
  evict,
  interleave,
  killed,
  migrate,
  pass,
  setMark,
  settle,
  SmallCluster,
  type Start,
} from "../small-cluster.ts";

const order = fc.constantFrom("EvacuationsFirst" as const, "VmiFirst" as const);
const anyPass = order.map(pass);
const anyEviction = fc.tuple(order, fc.boolean()).map(([first, isMarkFirst]) => evict(first, isMarkFirst));
const anyBeginning = fc.oneof(anyEviction, anyPass, fc.constant(setMark(true)));
const byHand = fc.constantFrom("a-by-hand", "z-by-hand").map(createByHand);

/** Up to four, some of which are killed, beside one that is not. */
function some(task: fc.Arbitrary<Start>, ...beside: readonly Start[]): fc.Arbitrary<readonly Start[]> {
  const steps = fc.option(fc.nat(9), { nil: Infinity });
  const mortal = fc.tuple(task, steps).map(([start, n]) => killed(start, n));
  return fc.array(mortal, { minLength: 1, maxLength: 4 }).map((tasks) => [...beside, ...tasks]);
}

/** The same interleavings every time. */
function always(
  tasks: fc.Arbitrary<readonly Start[]>,
  from: () => SmallCluster,
  holds: (cluster: SmallCluster) => void,
): void {
  const turns = fc.array(fc.tuple(fc.nat(11), fc.constantFrom(1, 2, 5, 99)), { minLength: 30, maxLength: 30 });
  const property = fc.property(tasks, turns, (starts, taken) => {
    const cluster = from();
    interleave(cluster, starts, taken);
    holds(cluster);
  });
  fc.assert(property, { seed: 20_261_122, numRuns: 1000 });
}

function all(cluster: SmallCluster): readonly EvacuationFacts[] {
  return [...cluster.evacuations.values()];
}

function put(cluster: SmallCluster, ...subjects: readonly EvacuationFacts[]): void {
  for (const subject of subjects) cluster.evacuations.set(subject.name, subject);
}

function empty(): SmallCluster {
  return new SmallCluster();
}

function begun(): SmallCluster {
  const cluster = empty();
  put(cluster, evacuation());
  cluster.mark(true);
  return cluster;
}

describe("functions that begin the same evacuation", () => {
  test("make one object and mark, also if either write is lost", () => {
    let lost = 0;
    always(some(anyBeginning), empty, (cluster) => {
      if ((cluster.evacuations.size === 0) !== (cluster.vmi.evacuationNodeName === undefined)) lost += 1;
      settle(cluster);
      expect(all(cluster).map(({ status }) => status.phase)).toEqual(isMarked(cluster.vmi) ? ["Pending"] : []);
    });
    expect(lost).toBeGreaterThan(50);
  });

  test("… although a look at the VM is older than the mark that was seen: nothing was removed", () => {
    always(some(anyPass, pass("VmiFirst"), evict("EvacuationsFirst", false)), empty, (cluster) => {
      settle(cluster);
      expect(all(cluster).map(({ status }) => status.phase)).toEqual(["Pending"]);
    });
  });

  test("and a person who names another one: exactly one goes on", () => {
    let two = 0;
    always(some(fc.oneof(anyBeginning, byHand), createByHand("m-by-hand")), empty, (cluster) => {
      settle(cluster);
      const ended = all(cluster).filter((e) => !isActive(e));
      expect(isMarked(cluster.vmi)).toBe(true);
      expect(all(cluster)).toHaveLength(ended.length + 1);
      expect(ended.filter(({ status }) => status.phase !== "Duplicate")).toEqual([]);
      two += ended.length;
    });
    expect(two).toBeGreaterThan(100);
  });
});

describe("an evacuation under way", () => {
  // prettier-ignore
  test.each<[string, fc.Arbitrary<readonly Start[]>, end: string]>([
    ["is withdrawn when its mark is removed, and no old look marks again", some(anyPass, setMark(false)),                          "Withdrawn MarkWithdrawn 0"],
    ["ends as Moved, and nothing begins another one",                      some(anyPass, migrate(["Succeeded"])),                  "Moved Moved 0"],
    ["counts every failed migration once",                                 some(anyPass, migrate(["Failed", "Failed", "Failed"])), "BackingOff MigrationFailed 3"],
  ])("%s", (_, tasks, end) => {
    always(tasks, begun, (cluster) => {
      const { evacuations, evacuationNodeName } = settle(cluster);
      expect(evacuations).toEqual([`${evacuation().name} ${end}`]);
      expect(evacuationNodeName).toBe(end.startsWith("BackingOff") ? NODE : undefined);
    });
  });

  test("that is asked for again while it ends: what old looks begin ends as Moved too", () => {
    always(some(fc.oneof(anyPass, anyEviction), migrate(["Succeeded"])), begun, (cluster) => {
      settle(cluster);
      expect(all(cluster).filter(({ status }) => status.phase !== "Moved")).toEqual([]);
      expect(cluster.vmi).not.toHaveProperty("evacuationNodeName");
    });
  });
});

const pending = migration({ phase: "Pending", evacuates: NODE });
const resting = { attempts: 99, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;

type Change = readonly [what: string, (cluster: SmallCluster) => void];

function becomes(tweak: Partial<VmiFacts>) {
  return (cluster: SmallCluster) => void (cluster.vmi = { ...cluster.vmi, ...tweak });
}

function is(...subjects: readonly EvacuationFacts[]) {
  return (cluster: SmallCluster) => put(cluster, ...subjects);
}

// prettier-ignore
const changes: readonly Change[] = [
  ["a mark",                 (c) => c.evacuations.clear()],
  ["an Evacuation",          is(newborn())],
  ["two of them",            is(newborn({ name: "by-hand", uid: "2", createdAt: 0 }))],
  ["cancelled",              is(evacuation({ spec: { intent: "Withdrawn" } }))],
  ["the mark was removed",   (c) => c.mark(false)],
  ["given up",               is(evacuation({ status: resting }))],
  ["between two attempts",   is(evacuation({ status: { ...resting, attempts: 1, nextAttemptTime: time(999) } }))],
  ["an attempt failed",      (c) => c.migrations.set(pending.name, { ...pending, phase: "Failed" })],
  ["strategy None",          becomes({ evictionStrategy: "None" })],
  ["moved, a label is left", becomes({ nodeName: "node02", evacuationLabel: "urgent" })],
  ["it ended",               becomes({ phase: "Failed" })],
];

function endOf(change: Change[1], steps: number) {
  const cluster = begun();
  cluster.migrations.set(pending.name, pending);
  change(cluster);
  interleave(cluster, [killed(pass("EvacuationsFirst"), steps)]);
  return settle(cluster);
}

describe("a function that is killed between any two steps leads to the same end", () => {
  test.each(changes)("%s", (_, change) => {
    const ends = Array.from({ length: 20 }, (__, steps) => endOf(change, steps));
    expect(ends).toEqual(ends.map(() => endOf(change, 99)));
  });
});
