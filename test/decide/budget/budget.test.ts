/** Tests when Lifeboat creates, changes and deletes PodDisruptionBudgets, and which VMs have a PodDisruptionBudget. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../../shared/kube/action.ts";
import {
  budgetName,
  type BudgetWorld,
  isBudgetDue,
  needsBudget,
  planBudgets,
  areBudgetsWanted,
} from "../../../shared/budget/budget.ts";
import { type Cells, cellsOf } from "../cells.ts";
import {
  budget,
  endedEvacuation,
  evacuation,
  marked,
  migration,
  MOBILITY,
  newborn,
  only,
  owner,
  PINNED,
  settings,
  vmi,
  without,
} from "../../support/fixtures.ts";
import { budgetWorld, planned, plannedBudgets } from "../../support/worlds.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { areEvictionsCovered, type WebhooksSeen } from "../../../shared/settings/guarded.ts";

// prettier-ignore
const NEEDED: Cells<readonly [boolean, boolean]> = {
  // [is a budget needed while the VM does not migrate, is it needed while the VM migrates]
  //                       migratable             pinned
  None:                  { migratable: [false, false], pinned: [false, false] },
  LiveMigrate:           { migratable: [true, true],   pinned: [true, true]   },
  LiveMigrateIfPossible: { migratable: [true, true],   pinned: [false, true]  },
  External:              { migratable: [true, true],   pinned: [true, true]   },
};

describe("needs a budget at rest, and during a migration:", () => {
  test.each(cellsOf(NEEDED))("strategy %s, %s VM: %j", (evictionStrategy, mobility, needed) => {
    const subject = vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] });
    expect([false, true].map((is) => needsBudget(subject, is, settings()))).toEqual(needed);
    const silent = without(subject, "evictionStrategy");
    expect(needsBudget(silent, false, settings({ clusterStrategy: evictionStrategy }))).toBe(needed[0]);
  });

  test("a VM with an unknown strategy needs a budget, because its owner wants some protection", () => {
    expect(needsBudget(vmi({ evictionStrategy: "Odd" }), false, settings())).toBe(true);
  });

  test.each([{ deleting: true }, { phase: "Succeeded" }])(
    "a VM with %j needs no budget, even while it migrates",
    (of) => {
      expect(needsBudget(vmi(of), true, settings())).toBe(false);
    },
  );

  test("the budget's name depends on the VMI's UID, so a recreated VMI gets another budget", () => {
    expect(budgetName(vmi())).toMatch(/^lifeboat-web-[0-9a-f]{8}$/);
    expect(budgetName(vmi({ uid: "made-anew" }))).not.toBe(budgetName(vmi()));
  });
});

// prettier-ignore
test.each<[string, readonly EvacuationFacts[], boolean]>([
  ["a VM without an Evacuation",          [],                                       true],
  ["a new Evacuation",                    [newborn()],                              true],
  ["an ended Evacuation",                 [endedEvacuation("Withdrawn")],           true],
  ["a reconciled Evacuation",             [newborn(), evacuation()],                false],
])("a review may create a budget for %s: $2", (_, evacuations, due) => expect(isBudgetDue(evacuations)).toBe(due));

function inShort(action: Action): string {
  const verb = action.verb.replace("Budget", "").toLowerCase();
  if (action.verb === "CreateBudget" && action.missing === true) return "create missing";
  return "budget" in action ? `${verb} ${action.budget.uid}` : verb;
}

const own = { vmis: [vmi()], budgets: [budget()] };
const pinned = vmi({ evictionStrategy: "LiveMigrateIfPossible", ...PINNED });
const foreign = budget({ name: "theirs", uid: "foreign", managedByUs: false, owners: [] });
const ownSelector = { matchLabels: { app: "lifeboat" }, matchExpressions: [] };
const deployment = budget({ name: "lifeboat", uid: "deployment", owners: [], selector: ownSelector });
const off = settings({ disruptionBudgets: "Never" });
const covered = settings({ evictionsCovered: true });
const done = ["delete budget-uid"];
const repaired = ["repair budget-uid"];
const blocked = evacuation({ status: { phase: "Blocked" } });

// prettier-ignore
const rows: readonly (readonly [what: string, tweak: Partial<BudgetWorld>, expected: readonly string[]])[] = [
  ["a VM without a budget gets one",                    { vmis: [vmi()] },                                                  ["create missing"]],
  ["a VM with its budget keeps it",                     own,                                                                []],
  ["a pinned VM that migrates to another cluster gets a budget",      { vmis: [pinned], migrations: [migration({ phase: "" })] },         ["create missing"]],
  ["a pinned VM gets none if a VM of the same name elsewhere migrates",        { vmis: [pinned], migrations: [migration({ namespace: "other" })] }, []],
  ["a pinned VM gets none after its migration has ended",      { vmis: [pinned], migrations: [migration({ phase: "Succeeded" })] }, []],
  ["a pinned VM under evacuation keeps its budget",            { ...own, vmis: [pinned], evacuations: [evacuation()] },            []],
  ["a pinned VM loses its budget if only a VM of the same name elsewhere is evacuated",        { ...own, vmis: [pinned], evacuations: [evacuation({ namespace: "other" })] }, done],
  ["a pinned VM whose evacuation is blocked loses its budget",                  { ...own, vmis: [pinned], evacuations: [blocked] },                 done],
  ["a pinned VM whose evacuation has ended loses its budget",                        { ...own, vmis: [pinned], evacuations: [endedEvacuation("Withdrawn")] }, done],
  ["a budget of an earlier version is repaired",                    { ...own, budgets: [budget({ minAvailable: 1 })] },                 repaired],
  ["a budget without its owner is repaired",                   { ...own, budgets: [budget({ owners: [] })] },                      repaired],
  ["a budget of another VMI's UID is repaired",                { ...own, budgets: [budget({ owners: [owner({ uid: "other" })] })] }, repaired],
  ["a budget that is being deleted is created again",                    { ...own, budgets: [budget({ deleting: true })] },                  ["create missing"]],
  ["a budget without its owner whose VMI is gone is deleted", { budgets: [budget({ owners: [] })] },                         done],
  ["a budget is kept if not all VMIs were read",                     { budgets: [budget({ owners: [] })], complete: false },             []],
  ["a recreated VMI gets a new budget; the old one is garbage-collected", { ...own, vmis: [vmi({ uid: "anew" })] },                           ["create missing"]],
  ["a budget is deleted if budgets are switched off",                             { ...own, settings: off },                                          done],
  ["a budget is kept if budgets are switched off and not all VMIs were read",                     { ...own, settings: off, complete: false },                         []],
  ["a budget is deleted if KubeVirt's webhook covers evictions",        { ...own, settings: covered },                                      done],
  ["a VM with another owner's budget gets one",                                { vmis: [vmi()], budgets: [foreign] },                              ["create missing"]],
  ["other owners' budgets stay if budgets are switched off",                           { budgets: [foreign, deployment], settings: off },                  []],
  ["the budget of Lifeboat's own Deployment stays",        { ...own, budgets: [budget(), deployment] },                         []],
  ["a budget without an owner and a selector stays", { budgets: [without(budget({ owners: [] }), "selector")], settings: off }, []],
  ["a budget that belongs to an object of another kind stays", { budgets: [budget({ ...deployment, owners: [owner({ kind: "Deployment" })] })], settings: off }, []],
];

describe("a plan for disruption budgets", () => {
  test.each(rows)("%s", (_, tweak, expected) => expect(plannedBudgets(tweak).map(inShort)).toEqual(expected));

  test("a budget that an evacuation finds missing is created without another read", () => {
    const created = only("CreateBudget", planned(evacuation(), { budgets: [] }));
    expect(created).toEqual([{ verb: "CreateBudget", vmi: marked(), missing: true }]);
  });

  test("a failed write for one VM does not delay another VM", () => {
    const db = vmi({ name: "db", uid: "db" });
    const { chains } = planBudgets(budgetWorld({ vmis: [vmi(), db], budgets: [budget({ owners: [] })] }));
    expect(chains.map((chain) => chain.map(inShort))).toEqual([repaired, ["create missing"]]);
  });
});

const LAUNCHERS = 'object.metadata.name.startsWith("virt-launcher")';
const UPSTREAM = {
  failurePolicy: "Fail",
  rules: [{ operations: ["CREATE"], resources: ["pods/eviction"] }],
  matchConditions: [{ name: "launchers", expression: LAUNCHERS }],
  selectors: [],
};
const OTHER = { ...UPSTREAM, rules: [{ operations: ["CREATE"], resources: ["virtualmachines"] }] };
const GUARD = [{ ...UPSTREAM, rules: [{ operations: ["DELETE"], resources: ["pods"] }] }];
const GATED = settings({ featureGates: ["PreemptionEvictionLiveMigration"] });

function kubevirt(tweak: object): Partial<WebhooksSeen> {
  return { kubevirt: [{ ...UPSTREAM, ...tweak }] };
}

describe("evictions are covered by webhooks", () => {
  // prettier-ignore
  test.each<[string, Partial<WebhooksSeen>, boolean]>([
    ["if KubeVirt's webhook is one of several",                      { kubevirt: [OTHER, UPSTREAM] },                                              true],
    ["if KubeVirt's webhook has every operation",                    kubevirt({ rules: [{ operations: ["*"], resources: ["pods/eviction"] }] }),   true],
    ["if KubeVirt's webhook has no condition, as in older versions", kubevirt({ matchConditions: [] }),                                            true],
    ["unless KubeVirt's webhook fails open",                         kubevirt({ failurePolicy: "Ignore" }),                                        false],
    ["if a webhook has another rule beside the one about evictions", { kubevirt: [{ ...UPSTREAM, rules: [...OTHER.rules, ...UPSTREAM.rules] }] }, true],
    ["unless KubeVirt's webhook omits evictions",                    { kubevirt: [OTHER] },                                                        false],
    ["unless KubeVirt's webhook omits the creation of evictions",    kubevirt({ rules: [{ operations: ["UPDATE"], resources: ["pods/eviction"] }] }), false],
    ["unless a condition excludes some evictions",                   kubevirt({ matchConditions: [{ name: "x", expression: 'request.userInfo.username != "admin"' }] }), false],
    ["unless a condition has a further part",                        kubevirt({ matchConditions: [{ name: "x", expression: `${LAUNCHERS} && false` }] }), false],
    ["unless a condition negates the usual one",                     kubevirt({ matchConditions: [{ name: "x", expression: `!${LAUNCHERS}` }] }), false],
    ["unless a selector excludes some evictions",                    kubevirt({ selectors: ["objectSelector"] }),                                         false],
    ["unless KubeVirt's webhook is missing or cannot be read",       { kubevirt: undefined },                                                      false],
    ["unless the guard is missing",                                  { guard: undefined },                                                         false],
  ])("%s: %s", (_, tweak, expected) => {
    expect(areEvictionsCovered({ kubevirt: [UPSTREAM], guard: GUARD, ...tweak }, GATED)).toBe(expected);
  });

  test("unless the guard's feature gate is off", () => {
    const seen = { kubevirt: [UPSTREAM], guard: GUARD };
    expect(areEvictionsCovered(seen, settings())).toBe(false);
  });
});

// prettier-ignore
test.each([
  // budget      covered  wanted
  ["Auto",      false,   true],
  ["Auto",      true,    false],
  ["Always",    true,    true],
  ["Never",     false,   false],
] as const)("disruptionBudgets %s, evictions covered %s: budgets are created: %s", (disruptionBudgets, evictionsCovered, expected) => {
  expect(areBudgetsWanted(settings({ disruptionBudgets, evictionsCovered }))).toBe(expected);
});
