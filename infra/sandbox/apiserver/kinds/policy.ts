/**
 * PodDisruptionBudgets.
 * Owns: the kind. Does not own: what a budget allows (eviction.ts), who keeps its status (a controller, over HTTP).
 */
import { type KubeObject, fieldAt, stringAt } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { invalidValue } from "../field-errors.ts";
import { AGE, NAME, countOf, text } from "./columns.ts";
import { type ResourceKind, defineKind } from "./kind.ts";

export const POD_DISRUPTION_BUDGETS: ResourceKind = defineKind({
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  shortNames: ["pdb"],
  hasStatus: true,
  hasGeneration: true,
  unconditionalUpdate: false,
  lists: { "status.conditions": ["type"] },
  atomicMaps: ["spec.selector"],
  columns: [
    NAME,
    text("Min Available", (budget) => stringAt(budget, "spec.minAvailable") || "N/A"),
    text("Max Unavailable", (budget) => stringAt(budget, "spec.maxUnavailable") || "N/A"),
    countOf("Allowed Disruptions", (budget) => Number(fieldAt(budget, "status.disruptionsAllowed") ?? 0)),
    AGE,
  ],
  applyDefaults: (budget) => {
    budget.status ??= { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  },
  validate: validateBudget,
});

function validateBudget(budget: KubeObject): readonly FieldError[] {
  const both =
    fieldAt(budget, "spec.minAvailable") !== undefined && fieldAt(budget, "spec.maxUnavailable") !== undefined;
  return both ? [invalidValue("spec", budget.spec, "minAvailable and maxUnavailable cannot be both set")] : [];
}
