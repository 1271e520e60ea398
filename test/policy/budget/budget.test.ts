/** Disruption budgets: which VM has one, of what size, and what is done to those that are there. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../../shared/kube/action.ts";
import { type BudgetWorld, desiredBudget, isReadyForMigration, planBudgets } from "../../../shared/budget/budget.ts";
import { budgetName } from "../../../shared/budget/identity.ts";
import type { BudgetFacts } from "../../../shared/kube/facts.ts";
import type { Settings } from "../../../shared/settings/settings.ts";
import { type Cells, cellsOf } from "../cells.ts";
import {
  at,
  budget,
  endedEvacuation,
  evacuation,
  grownBudget,
  marked,
  migration,
  MOBILITY,
  owner,
  PINNED,
  settings,
  time,
  vmi,
  without,
} from "../fixtures.ts";
import { budgetWorld, plannedBudgets } from "../worlds.ts";

type Size = 1 | 2 | undefined;

// prettier-ignore
const SIZES: Cells<readonly [Size, Size]> = {
  // [at rest, while an evacuation or a migration is unfinished]
  //                       migratable             pinned
  None:                  { migratable: [undefined, undefined], pinned: [undefined, undefined] },
  LiveMigrate:           { migratable: [1, 2],                 pinned: [1, 2]                 },
  LiveMigrateIfPossible: { migratable: [1, 2],                 pinned: [undefined, 2]         },
  External:              { migratable: [1, 2],                 pinned: [1, 2]                 },
};

describe("minAvailable", () => {
  test.each(cellsOf(SIZES))("%s, %s: %j", (evictionStrategy, mobility, sizes) => {
    const subject = vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] });
    expect([false, true].map((is) => desiredBudget(subject, is, settings()))).toEqual(sizes);
    const silent = without(subject, "evictionStrategy");
    expect(desiredBudget(silent, false, settings({ clusterStrategy: evictionStrategy }))).toBe(sizes[0]);
  });

  test("a strategy that KubeVirt does not know protects: its owner meant something by it", () => {
    expect(desiredBudget(vmi({ evictionStrategy: "Odd" }), false, settings())).toBe(1);
  });

  test.each([{ deleting: true }, { phase: "Succeeded" }])("%j: none, even while migrating", (of) => {
    expect(desiredBudget(vmi(of), true, settings())).toBeUndefined();
  });

  test("its name depends on the VMI's UID, so that one made anew has another", () => {
    expect(budgetName(vmi())).toMatch(/^lifeboat-web-[0-9a-f]{8}$/);
    expect(budgetName(vmi({ uid: "made-anew" }))).not.toBe(budgetName(vmi()));
  });
});

/** `create 1`, `grow`, `shrink`, `delete <uid>`. */
function inShort(action: Action): string {
  if (action.verb === "CreateBudget") return `create ${action.minAvailable}`;
  if (action.verb === "ResizeBudget") return action.minAvailable === 2 ? "grow" : "shrink";
  return action.verb === "DeleteBudget" ? `delete ${action.budget.uid}` : `unexpected ${action.verb}`;
}

const own = { vmis: [vmi()], budgets: [budget()] };
const grown = { vmis: [vmi()], budgets: [grownBudget()] };
const none = { vmis: [vmi({ evictionStrategy: "None" })] };
const foreign = budget({ name: "theirs", uid: "foreign", managedByUs: false, owners: [] });
const ownSelector = { matchLabels: { app: "lifeboat" }, matchExpressions: [] };
const deployment = budget({ name: "lifeboat", uid: "deployment", owners: [], selector: ownSelector });
const off = settings({ disruptionBudgets: "Never" });
const covered = settings({ evictionsCovered: true });
const touched = (seconds: number) => ({ ...grown, budgets: [grownBudget({ touchedAt: at(seconds).getTime() })] });
const moved = (seconds: number) => endedEvacuation("Moved", { status: { completionTime: time(seconds) } });
const endedAt = (seconds: number) => ({ ...grown, evacuations: [moved(seconds)] });
const done = ["delete budget-uid"];

// prettier-ignore
const rows: readonly (readonly [what: string, tweak: Partial<BudgetWorld>, expected: readonly string[]])[] = [
  ["a VM without a budget",                    { vmis: [vmi()] },                                                  ["create 1"]],
  ["a marked one without",                     { vmis: [marked()] },                                               ["create 2"]],
  ["a VM with its budget",                     own,                                                                []],
  // It grows
  ["marked",                                   { ...own, vmis: [marked()] },                                       ["grow"]],
  ["an Evacuation is active",                  { ...own, evacuations: [evacuation()] },                            ["grow"]],
  ["… of a VM of that name in another namespace", { ...own, evacuations: [evacuation({ namespace: "other" })] },   []],
  ["any party's migration, as soon as seen",   { ...own, migrations: [migration({ phase: "" })] },                 ["grow"]],
  ["… of a VM of that name in another namespace", { ...own, migrations: [migration({ namespace: "other" })] },     []],
  ["it migrates, by KubeVirt's account",       { ...own, vmis: [vmi({ isMigrating: true })] },                     ["grow"]],
  ["External, marked",                         { ...own, vmis: [marked({ evictionStrategy: "External" })] },       ["grow"]],
  ["marked for a node that it has left",       { ...own, vmis: [marked({ nodeName: "node02" })] },                 []],
  // It shrinks, three minutes later
  ["all is over",                              grown,                                                              ["shrink"]],
  ["… the migration has failed",               { ...grown, migrations: [migration({ phase: "Failed" })] },         ["shrink"]],
  ["… but two ready pods are left",            { ...grown, budgets: [grownBudget({ status: { currentHealthy: 2 } })] }, []],
  ["… grown less than three minutes ago",      touched(-179),                                                      []],
  ["… grown three minutes ago",                touched(-180),                                                      ["shrink"]],
  ["… grown by a clock that is fast",          touched(60),                                                        []],
  ["… grown in a hundred years: tampered",     touched(3e9),                                                       ["shrink"]],
  ["… ended less than three minutes ago",      endedAt(-179),                                                      []],
  ["… ended three minutes ago",                endedAt(-180),                                                      ["shrink"]],
  // It is repaired
  ["a size that was set by hand",              { ...own, budgets: [budget({ minAvailable: "50%" })] },             ["shrink"]],
  ["… to none, just after an evacuation",      { ...endedAt(-1), budgets: [budget({ minAvailable: 0 })] },         ["shrink"]],
  ["ours without its owner: made anew",        { ...own, budgets: [budget({ owners: [] })] },                      ["delete budget-uid", "create 1"]],
  ["ours is being deleted",                    { ...own, budgets: [budget({ deleting: true })] },                  ["create 1"]],
  // It goes
  ["strategy None",                            { ...own, ...none },                                                done],
  ["IfPossible, no longer migratable",         { ...own, vmis: [vmi({ evictionStrategy: "LiveMigrateIfPossible", ...PINNED })] }, done],
  ["being deleted",                            { ...own, vmis: [vmi({ deleting: true })] },                        done],
  ["final",                                    { ...own, vmis: [vmi({ phase: "Succeeded" })] },                    done],
  ["of an earlier VMI of that name",           { ...own, vmis: [vmi({ uid: "anew" })] },                           ["create 1", ...done]],
  ["of a VMI that is gone",                    { budgets: [budget()] },                                            done],
  ["… as far as is known",                     { budgets: [budget()], complete: false },                           []],
  ["… and its owner is not named",             { budgets: [budget({ owners: [] })] },                              done],
  ["switched off",                             { ...own, settings: off },                                          done],
  ["… as far as is known",                     { ...own, settings: off, complete: false },                         []],
  ["KubeVirt's webhook makes it noise",        { ...own, settings: covered },                                      done],
  ["… made by another function just now",      { ...touched(-179), vmis: [vmi()], settings: covered },               []],
  ["… three minutes ago",                      { ...touched(-180), vmis: [vmi()], settings: covered },               done],
  // Others'
  ["another's",                                { vmis: [vmi()], budgets: [foreign] },                              ["create 1"]],
  ["… beside ours",                            { vmis: [vmi()], budgets: [foreign, budget()] },                    []],
  ["… strategy None",                          { ...none, budgets: [foreign] },                                    []],
  ["… switched off",                           { budgets: [foreign, deployment], settings: off },                  []],
  ["that of Lifeboat's own Deployment",        { ...own, budgets: [budget(), deployment] },                         []],
];

describe("budgets", () => {
  test.each(rows)("%s", (_, tweak, expected) => expect(plannedBudgets(tweak).map(inShort)).toEqual(expected));

  test("what is in the way goes before what replaces it, in one chain; VMs do not wait for each other", () => {
    const db = vmi({ name: "db", uid: "db" });
    const { chains } = planBudgets(budgetWorld({ vmis: [vmi(), db], budgets: [budget({ owners: [] })] }));
    expect(chains.map((chain) => chain.map(inShort))).toEqual([["delete budget-uid", "create 1"], ["create 1"]]);
  });
});

// prettier-ignore
test.each<[what: string, budgets: readonly BudgetFacts[], ready: boolean, given?: Settings]>([
  ["ours at 2, seen",                      [grownBudget()],                                      true],
  ["… beside another's",                   [foreign, grownBudget()],                             true],
  ["none",                                 [],                                                   false],
  ["ours at 1",                            [budget()],                                           false],
  ["ours at 2, not seen yet",              [grownBudget({ status: { observedGeneration: 1 } })], false],
  ["ours at 2, seen, not reckoned yet",    [grownBudget({ status: { desiredHealthy: 1 } })],     false],
  ["ours at 2, being deleted",             [grownBudget({ deleting: true })],                    false],
  ["ours at 2, of an earlier VMI",         [grownBudget({ owners: [owner({ uid: "old" })] })],   false],
  ["another's at 2",                       [grownBudget({ managedByUs: false })],                false],
  ["none, none are made",                  [],                                                   true, off],
  ["none, they are noise",                 [],                                                   true, covered],
])("a migration may be created: %s: %s", (...[, budgets, expected, given = settings()]) => {
  expect(isReadyForMigration(vmi(), budgets, given)).toBe(expected);
});
