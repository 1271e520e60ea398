/** Which VM has a budget, and of what size: strategy × migratable × migrating × to migrate. */
import { describe, expect, test } from "vitest";
import { desiredBudget } from "../../shared/policy/budget.ts";
import { EVICTION_STRATEGIES, type EvictionStrategy, type Mobility } from "../../shared/policy/strategy.ts";
import { at, marked, MOBILITY, NODE, NOW, record, settings, time, vmi, without } from "./fixtures.ts";

const SITUATIONS = ["quiet", "marked", "tainted", "migrating", "backing off"] as const;
type Size = 1 | 2 | "-";
type Row = readonly [
  EvictionStrategy,
  Mobility,
  quiet: Size,
  marked: Size,
  tainted: Size,
  migrating: Size,
  backingOff: Size,
];

// prettier-ignore
const rows: readonly Row[] = [
  // strategy                VMI is        quiet  marked  node tainted  migrating  backing off
  ["None",                  "migratable", "-",   "-",    "-",          "-",        "-"],
  ["None",                  "pinned",     "-",   "-",    "-",          "-",        "-"],
  ["LiveMigrate",           "migratable", 1,     2,      2,            2,          2],
  ["LiveMigrate",           "pinned",     1,     1,      1,            2,          1],
  ["LiveMigrateIfPossible", "migratable", 1,     2,      2,            2,          2],
  ["LiveMigrateIfPossible", "pinned",     "-",   "-",    "-",          2,          "-"],
  ["External",              "migratable", 1,     2,      1,            2,          2],
  ["External",              "pinned",     1,     1,      1,            2,          1],
];

const plain = { tainted: new Set<string>(), settings: settings(), now: NOW };
const cancelled = record({ outcome: "Cancelled", notBefore: time(20) });

const cells = rows.flatMap(([strategy, mobility, ...sizes]) =>
  SITUATIONS.map((situation, i) => [strategy, mobility, situation, sizes[i] ?? "-"] as const),
);

describe("size of the budget", () => {
  test.each(cells)("%s, %s, %s: %s", (evictionStrategy, mobility, situation, size) => {
    const given = { evictionStrategy, liveMigratable: MOBILITY[mobility] };
    const ended = situation === "backing off" ? { record: cancelled } : {};
    const subject = (situation === "marked" ? marked : vmi)({ ...given, ...ended });
    const tainted = new Set(situation === "tainted" ? [NODE] : []);
    const desired = desiredBudget(subject, situation === "migrating", { ...plain, tainted });
    expect(desired ?? "-").toBe(size);
  });

  test("the rows cover every cell of the table", () => {
    const all = EVICTION_STRATEGIES.flatMap((s) => Object.keys(MOBILITY).map((m) => `${s}/${m}`));
    expect(rows.map(([s, m]) => `${s}/${m}`).toSorted()).toEqual(all.toSorted());
  });

  test("the KubeVirt CR's strategy counts where the VM has none", () => {
    const silent = without(vmi(), "evictionStrategy");
    expect(desiredBudget(silent, false, plain)).toBeUndefined();
    expect(desiredBudget(silent, false, { ...plain, settings: settings({ clusterStrategy: "LiveMigrate" }) })).toBe(1);
  });

  test("a strategy that nobody knows protects: somebody meant something by it", () => {
    expect(desiredBudget(vmi({ evictionStrategy: "Odd" }), false, plain)).toBe(1);
    expect(desiredBudget(vmi({ evictionStrategy: "Odd", evacuationNodeName: NODE }), false, plain)).toBe(1);
  });

  test.each([{ deleting: true }, { phase: "Succeeded" }, { phase: "Failed" }])(
    "%j: none, even while migrating",
    (tweak) => {
      expect(desiredBudget(vmi(tweak), false, plain)).toBeUndefined();
      expect(desiredBudget(marked(tweak), true, plain)).toBeUndefined();
    },
  );

  test("it does not go back before it is written down that the mark was taken back", () => {
    expect(desiredBudget(vmi({ record: record() }), false, plain)).toBe(2);
    expect(desiredBudget(vmi({ record: record({ outcome: "Withdrawn" }) }), false, plain)).toBe(1);
  });

  test("it goes back when the back-off has passed, or the VM has left the node", () => {
    expect(desiredBudget(vmi({ record: cancelled }), false, { ...plain, now: at(19) })).toBe(2);
    expect(desiredBudget(vmi({ record: cancelled }), false, { ...plain, now: at(20) })).toBe(1);
    expect(desiredBudget(vmi({ record: cancelled, nodeName: "node02" }), false, plain)).toBe(1);
  });

  test("a mark for a node that the VM has left does not make it grow", () => {
    expect(desiredBudget(marked({ nodeName: "node02" }), false, plain)).toBe(1);
  });

  test("a VM that is scheduled nowhere yet is protected from the start", () => {
    expect(desiredBudget(without(vmi({ phase: "Scheduling" }), "nodeName"), false, plain)).toBe(1);
  });
});
