/** Label selectors, as Kubernetes matches them. */
import { expect, test } from "vitest";
import type { LabelSelector } from "../../../shared/kube/facts.ts";
import { matches } from "../../../shared/kube/objects.ts";

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
  ["an empty one",                           labels({}),                                  true],
  ["app=web, tier=front",                    labels({ app: "web", tier: "front" }),       true],
  ["app=web, tier=back",                     labels({ app: "web", tier: "back" }),        false],
  ["missing=",                               labels({ missing: "" }),                     false],
  ["app In (db, web)",                       expression("app", "In", "db", "web"),        true],
  ["app In (db)",                            expression("app", "In", "db"),               false],
  ["missing In (web)",                       expression("missing", "In", "web"),          false],
  ["app NotIn (web)",                        expression("app", "NotIn", "web"),           false],
  ["app NotIn (db)",                         expression("app", "NotIn", "db"),            true],
  ["missing NotIn (web)",                    expression("missing", "NotIn", "web"),       true],
  ["app Exists",                             expression("app", "Exists"),                 true],
  ["missing Exists",                         expression("missing", "Exists"),             false],
  ["app DoesNotExist",                       expression("app", "DoesNotExist"),           false],
  ["missing DoesNotExist",                   expression("missing", "DoesNotExist"),       true],
  ["an operator that Kubernetes does not know", expression("app", "Gt", "1"),                false],
  ["constructor Exists: not a label here",   expression("constructor", "Exists"),         false],
])("%s", (_, selector, expected) => expect(matches(selector, LABELS)).toBe(expected));

test("labels and expressions must all be met", () => {
  const selector = { ...expression("tier", "Exists"), matchLabels: { app: "web" } };
  expect(matches(selector, LABELS)).toBe(true);
  expect(matches(selector, { app: "web" })).toBe(false);
  expect(matches(selector, { tier: "front" })).toBe(false);
});
