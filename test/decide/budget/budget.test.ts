/** Disruption budgets: where Lifeboat makes them, which VM has one, and what is done to those that are there. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../../shared/kube/action.ts";
import {
  budgetName,
  type BudgetWorld,
  needsBudget,
  planBudgets,
  areBudgetsWanted,
} from "../../../shared/budget/budget.ts";
import { type Cells, cellsOf } from "../cells.ts";
import {
  budget,
  endedEvacuation,
  evacuation,
  migration,
  MOBILITY,
  PINNED,
  settings,
  vmi,
  without,
} from "../../support/fixtures.ts";
import { budgetWorld, plannedBudgets } from "../../support/worlds.ts";
import { areEvictionsCovered, type WebhooksSeen } from "../../../shared/settings/guarded.ts";

// prettier-ignore
const NEEDED: Cells<readonly [boolean, boolean]> = {
  // [the VM does not migrate, it does]
  //                       migratable             pinned
  None:                  { migratable: [false, false], pinned: [false, false] },
  LiveMigrate:           { migratable: [true, true],   pinned: [true, true]   },
  LiveMigrateIfPossible: { migratable: [true, true],   pinned: [false, true]  },
  External:              { migratable: [true, true],   pinned: [true, true]   },
};

describe("whether a VM needs a budget", () => {
  test.each(cellsOf(NEEDED))("%s, %s: %j", (evictionStrategy, mobility, needed) => {
    const subject = vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] });
    expect([false, true].map((is) => needsBudget(subject, is, settings()))).toEqual(needed);
    const silent = without(subject, "evictionStrategy");
    expect(needsBudget(silent, false, settings({ clusterStrategy: evictionStrategy }))).toBe(needed[0]);
  });

  test("a VM whose strategy KubeVirt does not know: its owner meant something by it", () => {
    expect(needsBudget(vmi({ evictionStrategy: "Odd" }), false, settings())).toBe(true);
  });

  test.each([{ deleting: true }, { phase: "Succeeded" }])("a VM with %j needs none, even while it migrates", (of) => {
    expect(needsBudget(vmi(of), true, settings())).toBe(false);
  });

  test("its name depends on the VMI's UID, so that one made anew has another", () => {
    expect(budgetName(vmi())).toMatch(/^lifeboat-web-[0-9a-f]{8}$/);
    expect(budgetName(vmi({ uid: "made-anew" }))).not.toBe(budgetName(vmi()));
  });
});

/** `create`, `repair <uid>`, `delete <uid>`. */
function inShort(action: Action): string {
  const verb = action.verb.replace("Budget", "").toLowerCase();
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
  ["a VM without a budget",                    { vmis: [vmi()] },                                                  ["create"]],
  ["a VM with its budget",                     own,                                                                []],
  ["a pinned one that is sent elsewhere",      { vmis: [pinned], migrations: [migration({ phase: "" })] },         ["create"]],
  ["… another of that name, elsewhere",        { vmis: [pinned], migrations: [migration({ namespace: "other" })] }, []],
  ["a pinned one under evacuation",            { ...own, vmis: [pinned], evacuations: [evacuation()] },            []],
  ["… another of that name, elsewhere",        { ...own, vmis: [pinned], evacuations: [evacuation({ namespace: "other" })] }, done],
  ["… which cannot continue",                  { ...own, vmis: [pinned], evacuations: [blocked] },                 done],
  ["… which has ended",                        { ...own, vmis: [pinned], evacuations: [endedEvacuation("Withdrawn")] }, done],
  // It is there all the time
  ["of an earlier version",                    { ...own, budgets: [budget({ minAvailable: 1 })] },                 repaired],
  ["ours without its owner",                   { ...own, budgets: [budget({ owners: [] })] },                      repaired],
  ["ours is being deleted",                    { ...own, budgets: [budget({ deleting: true })] },                  ["create"]],
  // It goes
  ["of a VMI that is gone, whose name it has lost", { budgets: [budget({ owners: [] })] },                         done],
  ["… as far as is known",                     { budgets: [budget({ owners: [] })], complete: false },             []],
  ["of an earlier VMI of that name, likewise", { ...own, vmis: [vmi({ uid: "anew" })] },                           ["create"]],
  ["switched off",                             { ...own, settings: off },                                          done],
  ["… as far as is known",                     { ...own, settings: off, complete: false },                         []],
  ["KubeVirt's webhook makes it noise",        { ...own, settings: covered },                                      done],
  // Others'
  ["another's",                                { vmis: [vmi()], budgets: [foreign] },                              ["create"]],
  ["… switched off",                           { budgets: [foreign, deployment], settings: off },                  []],
  ["that of Lifeboat's own Deployment",        { ...own, budgets: [budget(), deployment] },                         []],
];

describe("budgets", () => {
  test.each(rows)("%s", (_, tweak, expected) => expect(plannedBudgets(tweak).map(inShort)).toEqual(expected));

  test("VMs do not wait for each other", () => {
    const db = vmi({ name: "db", uid: "db" });
    const { chains } = planBudgets(budgetWorld({ vmis: [vmi(), db], budgets: [budget({ owners: [] })] }));
    expect(chains.map((chain) => chain.map(inShort))).toEqual([repaired, ["create"]]);
  });
});

const UPSTREAM = {
  failurePolicy: "Fail",
  rules: [{ operations: ["CREATE"], resources: ["pods/eviction"] }],
  matchConditions: [{ name: "launchers", expression: 'object.metadata.name.startsWith("virt-launcher")' }],
  selectors: [],
};
const OTHER = { ...UPSTREAM, rules: [{ operations: ["CREATE"], resources: ["virtualmachines"] }] };
const GUARD = [{ ...UPSTREAM, rules: [{ operations: ["DELETE"], resources: ["pods"] }] }];
const GATED = settings({ featureGates: ["PreemptionEvictionLiveMigration"] });

function kubevirt(tweak: object): Partial<WebhooksSeen> {
  return { kubevirt: [{ ...UPSTREAM, ...tweak }] };
}

describe("evictions are covered", () => {
  // prettier-ignore
  test.each<[string, Partial<WebhooksSeen>, boolean]>([
    ["upstream's webhook, beside others",     { kubevirt: [OTHER, UPSTREAM] },                                              true],
    ["… for every operation",                 kubevirt({ rules: [{ operations: ["*"], resources: ["pods/eviction"] }] }),   true],
    ["… without a condition, as it once was", kubevirt({ matchConditions: [] }),                                            true],
    ["it fails open",                         kubevirt({ failurePolicy: "Ignore" }),                                        false],
    ["it is not asked about evictions",       { kubevirt: [OTHER] },                                                        false],
    ["… about their creation",                kubevirt({ rules: [{ operations: ["UPDATE"], resources: ["pods/eviction"] }] }), false],
    ["a condition leaves out some",           kubevirt({ matchConditions: [{ name: "x", expression: 'request.userInfo.username != "admin"' }] }), false],
    ["a selector leaves out some",            kubevirt({ selectors: ["objectSelector"] }),                                         false],
    ["there is none, or it may not be read",  { kubevirt: undefined },                                                      false],
    ["the guard is not installed",            { guard: undefined },                                                         false],
  ])("%s: %s", (_, tweak, expected) => {
    expect(areEvictionsCovered({ kubevirt: [UPSTREAM], guard: GUARD, ...tweak }, GATED)).toBe(expected);
  });

  test("not where the guard's gate is off", () => {
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
] as const)("disruptionBudgets %s, evictions covered %s: made %s", (disruptionBudgets, evictionsCovered, expected) => {
  expect(areBudgetsWanted(settings({ disruptionBudgets, evictionsCovered }))).toBe(expected);
});
