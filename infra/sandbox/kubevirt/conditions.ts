/** Conditions of VMIs and migrations, in the form in which KubeVirt writes them. */
import { findCondition, type Condition } from "../actors/conditions.ts";

type Conditions = readonly Condition[];

/** Makes a condition. An unset time is null, as KubeVirt writes it. */
export function conditionOf(said: Condition, at: string | null = null): Condition {
  return { lastProbeTime: at, lastTransitionTime: at, ...said };
}

/** Replaces a condition if its status or reason differs. If only the message differs, the old condition remains. */
export function withCondition(conditions: Conditions | undefined, next: Condition): Condition[] {
  const before = findCondition(conditions, next.type);
  if (before === undefined) return [...(conditions ?? []), next];
  const isKept = before.status === next.status && before.reason === next.reason;
  return (conditions ?? []).map((other) => (other === before && !isKept ? next : other));
}

export function withoutCondition(conditions: Conditions | undefined, type: string): Condition[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}
