/**
 * Disruption budgets and selectors of every kind.
 * Owns: generating them. Does not own: the other facts (policy-facts.ts).
 */
import * as fc from "fast-check";
import type { BudgetFacts } from "../../shared/policy/facts.ts";
import { labels, owners } from "./policy-facts.ts";
import { facts, few, key, namespace, number, uid } from "./policy-words.ts";

const requirement = fc.record({
  key,
  operator: few("In", "NotIn", "Exists", "DoesNotExist"),
  values: fc.array(fc.string(), { maxLength: 2 }),
});
export const selector = fc.record({
  matchLabels: fc.oneof(fc.constant<Readonly<Record<string, string>>>({ "kubevirt.io/created-by": "uid-1" }), labels),
  matchExpressions: fc.array(requirement, { maxLength: 2 }),
});

export const budget: fc.Arbitrary<BudgetFacts> = facts(
  {
    namespace,
    name: few("lifeboat-web-1", "b"),
    uid,
    resourceVersion: fc.string(),
    generation: number,
    deleting: fc.boolean(),
    managedByUs: fc.boolean(),
    owners,
    status: fc.record({
      observedGeneration: number,
      disruptionsAllowed: number,
      currentHealthy: number,
      desiredHealthy: number,
      expectedPods: number,
    }),
  },
  { minAvailable: fc.oneof(number, fc.string()), selector, unhealthyPodEvictionPolicy: few("AlwaysAllow") },
);
