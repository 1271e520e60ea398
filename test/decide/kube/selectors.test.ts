/** Tests that label selectors and node selector terms match as they do in Kubernetes. */
import { expect, test } from "vitest";
import type { LabelSelector } from "../../../shared/kube/facts.ts";
import { matches, isWanted, matchesTerm } from "../../../shared/kube/objects.ts";
import { ANYWHERE, node, requirement, term } from "../../support/descheduling/fixtures.ts";

const LABELS = { app: "web", tier: "front", empty: "" };

function labels(matchLabels: Readonly<Record<string, string>>): LabelSelector {
  return { matchLabels, matchExpressions: [] };
}

function expression(key: string, operator: string, ...values: readonly string[]): LabelSelector {
  return { matchLabels: {}, matchExpressions: [{ key, operator, values }] };
}

// prettier-ignore
test.each([
  ["no selector",                            undefined,                                   false],
  ["an empty selector",                           labels({}),                                  true],
  ["app=web, tier=front",                    labels({ app: "web", tier: "front" }),       true],
  ["missing=",                               labels({ missing: "" }),                     false],
  ["app In (db, web)",                       expression("app", "In", "db", "web"),        true],
  ["app NotIn (web)",                        expression("app", "NotIn", "web"),           false],
  ["app NotIn (db)",                         expression("app", "NotIn", "db"),            true],
  ["app Exists",                             expression("app", "Exists"),                 true],
  ["app DoesNotExist",                       expression("app", "DoesNotExist"),           false],
  ["missing DoesNotExist",                   expression("missing", "DoesNotExist"),       true],
  ["an unknown operator", expression("app", "Gt", "1"),                false],
  ["constructor Exists, although every object has a constructor",   expression("constructor", "Exists"),         false],
])("the label selector %s matches: $2", (_, selector, expected) => expect(matches(selector, LABELS)).toBe(expected));

test("all labels and expressions of a selector must match", () => {
  const selector = { ...expression("tier", "Exists"), matchLabels: { app: "web" } };
  expect(matches(selector, LABELS)).toBe(true);
  expect(matches(selector, { app: "web" })).toBe(false);
  expect(matches(selector, { tier: "front" })).toBe(false);
});

const NODE = node("n1", { labels: { zone: "a", cores: "8", negative: "-3", empty: "" } });

// prettier-ignore
test.each([
  ["zone",        "In",           ["b"],       false],
  ["zone",        "NotIn",        ["b"],       true],
  ["cores",       "Gt",           ["7"],       true],
  ["cores",       "Gt",           ["8"],       false],
  ["cores",       "Lt",           ["9"],       true],
  ["cores",       "Lt",           ["8"],       false],
  ["negative",    "Lt",           ["0"],       true],
  ["zone",        "Gt",           ["0"],       false],
  ["cores",       "Gt",           ["x7"],      false],
  ["cores",       "Gt",           ["7x"],      false],
  ["cores",       "Gt",           ["many"],    false],
  ["cores",       "Gt",           ["1", "2"],  false],
] as const)("label %s %s %j matches: %s", (key, operator, values, expected) => {
  expect(matchesTerm(term(requirement(key, operator, ...values)), NODE)).toBe(expected);
});

// prettier-ignore
test.each([
  ["metadata.name", "In",     ["n1"],        true],
  ["metadata.name", "In",     ["n2"],        false],
  ["metadata.name", "NotIn",  ["n1"],        false],
  ["metadata.name", "NotIn",  ["n2"],        true],
  ["metadata.name", "Exists", [],            false],
  ["metadata.uid",  "NotIn",  ["n2"],        false],
] as const)("field %s %s %j matches: %s", (key, operator, values, expected) => {
  expect(matchesTerm({ matchExpressions: [], matchFields: [requirement(key, operator, ...values)] }, NODE)).toBe(expected);
});

const met = term(requirement("zone", "In", "a"));
const unmet = term(requirement("zone", "In", "b"));
const inZone = (zone: string) => ({ zone });

// prettier-ignore
test.each([
  ["no restriction",                                 ANYWHERE,                                                               true],
  ["one of two terms",                               { ...ANYWHERE, required: [unmet, met] },                                true],
  ["required affinity without terms",                { ...ANYWHERE, required: [] },                                          false],
  ["an empty term",                                  { ...ANYWHERE, required: [term()] },                                    false],
  ["a matching nodeSelector and other terms",        { ...ANYWHERE, nodeSelector: inZone("a"), required: [unmet] },          false],
  ["a term that matches in part",                    { ...ANYWHERE, required: [term(...met.matchExpressions, ...unmet.matchExpressions)] }, false],
  ["matching labels and the matching field",         { ...ANYWHERE, required: [{ ...met, matchFields: [requirement("metadata.name", "In", "n1")] }] }, true],
  ["matching labels and another field",              { ...ANYWHERE, required: [{ ...met, matchFields: [requirement("metadata.name", "In", "n2")] }] }, false],
] as const)("a node is selected by %s: $2", (_, placement, expected) => expect(isWanted(placement, NODE)).toBe(expected));
