/** Whether Lifeboat makes budgets: not where KubeVirt's own webhook fails closed and the guard is in force. */
import { describe, expect, test } from "vitest";
import { areEvictionsCovered, type WebhooksSeen } from "../../../shared/settings/guarded.ts";
import { settings } from "../../support/fixtures.ts";
import { areBudgetsWanted } from "../../../shared/budget/budget.ts";

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
    ["… or has no webhook",                   { guard: [] },                                                                false],
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
