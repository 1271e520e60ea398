/**
 * The situations of KubeVirt's own unit tests of its disruption budget controller, as of 1.5, the last that made budgets.
 * Ours grows and shrinks by what migrates, not by labels; where the rules here are others, the row says so.
 */
import { describe, expect, test } from "vitest";
import type { BudgetWorld } from "../../shared/policy/budget.ts";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import { budget, grownBudget, kubevirtBudget, migration, MOBILITY, settings, verbs, vmi, without } from "./fixtures.ts";
import { plannedBudgets } from "./worlds.ts";

const silent = without(vmi(), "evictionStrategy");
const silentPinned = { ...silent, liveMigratable: MOBILITY.pinned };
const withBudget = { budgets: [budget()] };
const underLiveMigrate = settings({ clusterStrategy: "LiveMigrate" });
const shrunk = [{ minAvailable: 1 }];

type Row = readonly [what: string, tweak: Partial<BudgetWorld>, expected: readonly string[]];

// prettier-ignore
const rows: readonly Row[] = [
  ["no strategy, no budget",                     { vmis: [silent] },                                    []],
  ["no strategy, a budget",                      { vmis: [silent], ...withBudget },                     ["DeleteBudget"]],
  ["the cluster's LiveMigrate, pinned",          { vmis: [silentPinned], settings: underLiveMigrate },  ["CreateBudget"]],
  ["a migration has succeeded, one pod is left", { vmis: [vmi()], budgets: [grownBudget()], migrations: [migration({ phase: "Succeeded" })] }, ["ResizeBudget"]],
  ["… two are left",                             { vmis: [vmi()], budgets: [grownBudget({ status: { currentHealthy: 2 } })], migrations: [migration({ phase: "Succeeded" })] }, []],
  ["the migration is gone",                      { vmis: [vmi()], budgets: [grownBudget()] },           ["ResizeBudget"]],
  ["the migration runs",                         { vmis: [vmi()], budgets: [grownBudget()], migrations: [migration()] }, []],
  ["a migration is about to get its target pod", { vmis: [vmi()], ...withBudget, migrations: [migration({ phase: "Pending" })] }, ["ResizeBudget"]],
  ["LiveMigrate, a budget, pinned",              { vmis: [vmi({ liveMigratable: MOBILITY.pinned })], ...withBudget }, []],
  ["External, a budget, pinned",                 { vmis: [vmi({ evictionStrategy: "External", liveMigratable: MOBILITY.pinned })], ...withBudget }, []],
  ["a budget of KubeVirt's migration controller: not ours to delete", { vmis: [vmi()], budgets: [kubevirtBudget({ name: "kubevirt-migration-pdb-web", minAvailable: 2 })] }, []],
];

describe("as in KubeVirt's disruption budget controller", () => {
  test.each(rows)("%s", (_, tweak, expected) => expect(verbs(plannedBudgets(tweak))).toEqual(expected));

  test("after the migration the size is 1", () => {
    expect(plannedBudgets({ vmis: [vmi()], budgets: [grownBudget()] })).toMatchObject(shrunk);
  });
});

describe.each(["LiveMigrate", "LiveMigrateIfPossible", "External"])("%s, migratable", (evictionStrategy) => {
  const planned = (vmis: readonly Partial<VmiFacts>[], tweak: Partial<BudgetWorld> = {}) =>
    verbs(plannedBudgets({ vmis: vmis.map((v) => vmi({ evictionStrategy, ...v })), ...tweak }));

  // prettier-ignore
  test.each([
    ["no budget, or it disappeared",              [{}],                          {},                                      ["CreateBudget"]],
    ["its budget",                                [{}],                          withBudget,                              []],
    ["the VMI is gone, or never was",             [],                            withBudget,                              ["DeleteBudget"]],
    ["made anew",                                 [{ uid: "anew" }],             withBudget,                              ["CreateBudget", "DeleteBudget"]],
    ["being deleted, no budget",                  [{ deleting: true }],          {},                                      []],
    ["succeeded",                                 [{ phase: "Succeeded" }],      withBudget,                              ["DeleteBudget"]],
    ["failed",                                    [{ phase: "Failed" }],         withBudget,                              ["DeleteBudget"]],
    ["final, no budget: none is made, there made and deleted for ever", [{ phase: "Failed" }], {},                         []],
    ["its budget lost its owner: replaced, there a second one is made", [{}],    { budgets: [budget({ owners: [] })] },   ["DeleteBudget", "CreateBudget"]],
    ["its strategy is taken away",                [{ evictionStrategy: "" }],    withBudget,                              ["DeleteBudget"]],
  ])("%s", (...[, vmis, tweak, expected]) => expect(planned(vmis, tweak)).toEqual(expected));

  test("what is made has size 1, a name of its own and selects the VM's pods by its UID", () => {
    expect(plannedBudgets({ vmis: [vmi({ evictionStrategy })] })).toMatchObject([
      { verb: "CreateBudget", minAvailable: 1, vmi: { uid: vmi().uid }, name: budget().name },
    ]);
  });
});
