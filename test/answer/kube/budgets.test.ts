/** Budgets as facts: whose one is. */
import { expect, test } from "vitest";
import { Budget } from "../../../shared/kube/schemas/kubernetes.ts";
import { budgetName } from "../../../shared/budget/budget.ts";
import { vmi } from "../../support/fixtures.ts";

const OURS = { "app.kubernetes.io/managed-by": "lifeboat" };
const NAME = budgetName(vmi());

// prettier-ignore
test.each([
  ["our label and a name of ours",            NAME,                OURS,                                          true],
  ["our label, another product's name",       "web",               OURS,                                          false],
  ["… which only contains ours",              `a-${NAME}`,         OURS,                                          false],
  ["a name of ours, no label",                NAME,                undefined,                                     false],
  ["a name of ours, another product's label",   NAME,                { "app.kubernetes.io/managed-by": "Helm" },    false],
] as const)("a budget with %s", (_, name, labels, ours) => {
  const metadata = { namespace: "apps", name, uid: "u", resourceVersion: "1", generation: 1, ...(labels && { labels }) };
  expect(Budget.parse({ metadata, spec: {}, status: {} }).managedByUs).toBe(ours);
});
