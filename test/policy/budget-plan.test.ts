/** What is done to budgets: made, grown before and shrunk after a migration, yielded, tidied up. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../shared/policy/action.ts";
import { budgetName, type BudgetWorld, isGrown, isReadyForMigration, planBudgets } from "../../shared/policy/budget.ts";
import type { BudgetFacts } from "../../shared/policy/facts.ts";
import {
  budget,
  grownBudget,
  kubevirtBudget,
  marked,
  migration,
  MOBILITY,
  NODE,
  owner,
  settings,
  vmi,
} from "./fixtures.ts";
import { budgetWorld, plannedBudgets } from "./worlds.ts";

/** `create 1`, `grow`, `shrink`, `delete <uid>`. */
function inShort(action: Action): string {
  if (action.verb === "CreateBudget") return `create ${action.minAvailable}`;
  if (action.verb === "ResizeBudget") return action.minAvailable === 2 ? "grow" : "shrink";
  return action.verb === "DeleteBudget" ? `delete ${action.budget.uid}` : `unexpected ${action.verb}`;
}

const foreign = budget({ name: "theirs", uid: "foreign", managedByUs: false, owners: [] });
const pinnedIfPossible = vmi({ evictionStrategy: "LiveMigrateIfPossible", liveMigratable: MOBILITY.pinned });
const done = migration({ phase: "Succeeded" });
const deletesOurs = ["delete budget-uid"];

// prettier-ignore
const rows: readonly (readonly [what: string, tweak: Partial<BudgetWorld>, expected: readonly string[]])[] = [
  ["a VM without a budget",                    { vmis: [vmi()] },                                                     ["create 1"]],
  ["a marked one without",                     { vmis: [marked()] },                                                  ["create 2"]],
  ["migrating without",                        { vmis: [vmi()], migrations: [migration()] },                          ["create 2"]],
  ["a VM with its budget",                     { vmis: [vmi()], budgets: [budget()] },                                []],
  ["marked: before any migration",             { vmis: [marked()], budgets: [budget()] },                             ["grow"]],
  ["on a tainted node: before any migration",  { vmis: [vmi()], budgets: [budget()], tainted: new Set([NODE]) },      ["grow"]],
  ["somebody's migration, as soon as seen",    { vmis: [vmi()], budgets: [budget()], migrations: [migration({ phase: "" })] }, ["grow"]],
  ["a migration of another namespace's VM",    { vmis: [vmi()], budgets: [budget()], migrations: [migration({ namespace: "other" })] }, []],
  ["grown while marked",                       { vmis: [marked()], budgets: [grownBudget()] },                        []],
  ["grown while migrating",                    { vmis: [vmi()], budgets: [grownBudget()], migrations: [migration()] }, []],
  ["after the migration",                      { vmis: [vmi()], budgets: [grownBudget()], migrations: [done] },       ["shrink"]],
  ["… failed",                                 { vmis: [vmi()], budgets: [grownBudget()], migrations: [migration({ phase: "Failed" })] }, ["shrink"]],
  ["… while two ready pods are left",          { vmis: [vmi()], budgets: [grownBudget({ status: { currentHealthy: 2 } })] }, []],
  ["a size that somebody set by hand",         { vmis: [vmi()], budgets: [budget({ minAvailable: "50%" })] },         ["shrink"]],
  ["… or removed",                             { vmis: [vmi()], budgets: [budget({ minAvailable: 0 })] },             ["shrink"]],
  ["strategy None",                            { vmis: [vmi({ evictionStrategy: "None" })], budgets: [budget()] },    deletesOurs],
  ["IfPossible, no longer migratable",         { vmis: [pinnedIfPossible], budgets: [budget()] },                     deletesOurs],
  ["… but migrating",                          { vmis: [pinnedIfPossible], budgets: [grownBudget()], migrations: [migration()] }, []],
  ["being deleted",                            { vmis: [vmi({ deleting: true })], budgets: [budget()] },              deletesOurs],
  ["being deleted, without",                   { vmis: [vmi({ deleting: true })] },                                   []],
  ["final",                                    { vmis: [vmi({ phase: "Succeeded" })], budgets: [budget()] },          deletesOurs],
  ["ours being deleted already",               { vmis: [vmi()], budgets: [budget({ deleting: true })] },              ["create 1"]],
  ["KubeVirt's own only",                      { vmis: [vmi()], budgets: [kubevirtBudget()] },                        []],
  ["KubeVirt's own only, marked",              { vmis: [marked()], budgets: [kubevirtBudget()] },                     []],
  ["KubeVirt's own beside ours: ours yields",  { vmis: [vmi()], budgets: [budget(), kubevirtBudget()] },              deletesOurs],
  ["KubeVirt's own, which is being deleted",   { vmis: [vmi()], budgets: [kubevirtBudget({ deleting: true })] },      ["create 1"]],
  ["somebody's beside ours: ours stays",       { vmis: [vmi()], budgets: [foreign, budget()] },                       []],
  ["somebody's only",                          { vmis: [vmi()], budgets: [foreign] },                                 ["create 1"]],
  ["somebody's, strategy None",                { vmis: [vmi({ evictionStrategy: "None" })], budgets: [foreign] },     []],
  ["two of ours: the one with the right name", { vmis: [vmi()], budgets: [budget({ name: "copy", uid: "copy" }), budget()] }, ["delete copy"]],
  ["one with a wrong name: replaced",          { vmis: [vmi()], budgets: [budget({ name: "old", uid: "old" })] },     ["delete old", "create 1"]],
  ["ours without its owner: made anew",        { vmis: [vmi()], budgets: [budget({ owners: [] })] },                  [...deletesOurs, "create 1"]],
  ["… in a partial look as well",              { vmis: [vmi()], budgets: [budget({ owners: [] })], complete: false }, [...deletesOurs, "create 1"]],
  ["of an earlier VMI of that name",           { vmis: [vmi({ uid: "anew" })], budgets: [budget()] },                 ["create 1", ...deletesOurs]],
  ["of a VMI that is gone",                    { budgets: [budget()] },                                               deletesOurs],
  ["… known only partially",                   { budgets: [budget()], complete: false },                              []],
  ["without an owner",                         { budgets: [budget({ owners: [] })] },                                 deletesOurs],
  ["… being deleted already",                  { budgets: [budget({ deleting: true })] },                             []],
  ["KubeVirt's own of a VMI that is gone",     { budgets: [kubevirtBudget()] },                                       []],
  ["somebody's that nobody owns",              { budgets: [foreign] },                                                []],
  ["switched off",                             { vmis: [vmi()], budgets: [budget()], settings: settings({ reconcilers: { budget: "Disabled" } }) }, []],
];

describe("budgets", () => {
  test.each(rows)("%s", (_, tweak, expected) => expect(plannedBudgets(tweak).map(inShort)).toEqual(expected));

  test("what is in the way goes before what replaces it, in one chain", () => {
    const { chains } = planBudgets(budgetWorld({ vmis: [vmi()], budgets: [budget({ owners: [] })] }));
    expect(chains.map((chain) => chain.map((a) => a.verb))).toEqual([["DeleteBudget", "CreateBudget"]]);
  });

  test("VMs do not wait for each other, and nothing is looked at again without need", () => {
    const plan = planBudgets(budgetWorld({ vmis: [vmi(), vmi({ name: "db", uid: "db" })] }));
    expect(plan.chains).toHaveLength(2);
    expect(plan).not.toHaveProperty("requeueAfterSeconds");
  });

  test("every change is conditional on what was observed", () => {
    const observed = budget({ minAvailable: 1 });
    expect(plannedBudgets({ vmis: [marked()], budgets: [observed] })).toEqual([
      { verb: "ResizeBudget", budget: observed, minAvailable: 2 },
    ]);
  });
});

describe("name", () => {
  test("depends on the VMI's UID, so that one made anew has another", () => {
    expect(budgetName(vmi())).toMatch(/^lifeboat-web-[0-9a-f]{8}$/);
    expect(budgetName(vmi())).toBe(budgetName(vmi({ resourceVersion: "2" })));
    expect(budgetName(vmi({ uid: "made-anew" }))).not.toBe(budgetName(vmi()));
  });
});

// prettier-ignore
const readyRows: readonly (readonly [what: string, budgets: readonly BudgetFacts[], ready: boolean])[] = [
  ["ours at 2, seen",                      [grownBudget()],                                          true],
  ["… beside somebody's",                  [foreign, grownBudget()],                                 true],
  ["none",                                 [],                                                       false],
  ["ours at 1",                            [budget()],                                               false],
  ["ours at 2, not seen yet",              [grownBudget({ status: { observedGeneration: 1 } })],     false],
  ["ours at 2, seen, not reckoned yet",    [grownBudget({ status: { desiredHealthy: 1 } })],         false],
  ["ours at 2, being deleted",             [grownBudget({ deleting: true })],                        false],
  ["ours at 2, of an earlier VMI",         [grownBudget({ owners: [owner({ uid: "old", controller: false })] })], false],
  ["somebody's at 2",                      [grownBudget({ managedByUs: false })],                    false],
  ["KubeVirt's own, which grows it itself", [kubevirtBudget()],                                      true],
  ["KubeVirt's own, being deleted",        [kubevirtBudget({ deleting: true })],                     false],
  ["KubeVirt's own of an earlier VMI",     [kubevirtBudget({ owners: [owner({ uid: "old" })] })],    false],
];

describe("a migration may be created", () => {
  test.each(readyRows)("%s", (_, budgets, ready) => {
    expect(isReadyForMigration(vmi(), budgets, settings())).toBe(ready);
  });

  test("without looking at budgets, where they are not ours to make", () => {
    expect(isReadyForMigration(vmi(), [], settings({ reconcilers: { budget: "Disabled" } }))).toBe(true);
  });
});

describe("our budget is still grown", () => {
  test.each([
    ["ours at 2, seen or not", [grownBudget({ status: { observedGeneration: 1 } })], true],
    ["ours at 1", [budget()], false],
    ["ours at 2, being deleted", [grownBudget({ deleting: true })], false],
    ["KubeVirt's own at 2", [kubevirtBudget({ minAvailable: 2 })], false],
    ["none", [], false],
  ] as const)("%s", (_, budgets, grown) => expect(isGrown(vmi(), budgets, settings())).toBe(grown));

  test("never, where budgets are not ours to shrink", () => {
    expect(isGrown(vmi(), [grownBudget()], settings({ reconcilers: { budget: "Disabled" } }))).toBe(false);
  });
});
