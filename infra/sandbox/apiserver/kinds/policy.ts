/** PodDisruptionBudgets. */
import { type KubeObject, fieldAt, recordAt } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { invalidIf, oneOf } from "../field-errors.ts";
import { selectorErrors } from "../validation.ts";
import { builtIn } from "./built-in.ts";

export const POD_DISRUPTION_BUDGETS = builtIn("PodDisruptionBudget", { validate: validateBudget });

const COUNTS = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

function validateBudget(budget: KubeObject): readonly FieldError[] {
  const spec = recordAt(budget, "spec");
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy } = spec;
  const both = minAvailable !== undefined && maxUnavailable !== undefined;
  return [
    ...invalidIf(both, "spec", spec, "minAvailable and maxUnavailable cannot be both set"),
    ...countOrPercent("spec.minAvailable", minAvailable),
    ...countOrPercent("spec.maxUnavailable", maxUnavailable),
    ...selectorErrors("spec.selector", spec.selector),
    ...oneOf("spec.unhealthyPodEvictionPolicy", unhealthyPodEvictionPolicy, ["AlwaysAllow", "IfHealthyBudget"]),
    ...COUNTS.flatMap((count) => countOrPercent(`status.${count}`, fieldAt(budget, `status.${count}`))),
  ];
}

function countOrPercent(field: string, value: unknown): readonly FieldError[] {
  if (typeof value !== "string")
    return invalidIf(Number(value) < 0, field, value, "must be greater than or equal to 0");
  const isPercent = /^[0-9]+%$/.test(value);
  const isOver = isPercent && Number.parseInt(value, 10) > 100;
  return invalidIf(!isPercent || isOver, field, value, isOver ? "must not be greater than 100%" : PERCENT);
}

const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' " +
  "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
