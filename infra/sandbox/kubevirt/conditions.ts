/** Creates conditions of VMIs and migrations, as KubeVirt does. */
import { findCondition, type Condition } from "../actors/conditions.ts";

type Conditions = readonly Condition[];

export function conditionOf(said: Condition, at: string | null = null): Condition {
  return { lastProbeTime: at, lastTransitionTime: at, ...said };
}

/**
 * Adds a condition, or replaces the condition of the same type if its status or reason has changed. A change of only
 * the message is ignored.
 */
export function withCondition(conditions: Conditions | undefined, next: Condition): Condition[] {
  const before = findCondition(conditions, next.type);
  if (before === undefined) return [...(conditions ?? []), next];
  const isKept = before.status === next.status && before.reason === next.reason;
  return (conditions ?? []).map((other) => (other === before && !isKept ? next : other));
}

export function withoutCondition(conditions: Conditions | undefined, type: string): Condition[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}
