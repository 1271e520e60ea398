/** Label selectors as Kubernetes matches them (apimachinery `LabelSelectorAsSelector`). */
import type { LabelSelector, LabelSelectorRequirement } from "./facts.ts";
import { ownValue } from "./own-value.ts";

type Labels = Readonly<Record<string, string>>;

/** An absent selector matches nothing, an empty one everything; an unknown operator matches nothing. */
export function matches(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  const byLabel = Object.entries(selector.matchLabels).every(([key, value]) => ownValue(labels, key) === value);
  return byLabel && selector.matchExpressions.every((requirement) => meets(requirement, labels));
}

export function meets({ key, operator, values }: LabelSelectorRequirement, labels: Labels): boolean {
  const value = ownValue(labels, key);
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}
