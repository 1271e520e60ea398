/**
 * Conditions of VMIs and migrations, as KubeVirt's condition managers keep them.
 * Owns: when one is replaced, what its unset times look like. Does not own: what any of them says.
 */
import { findCondition, type Condition } from "../actors/conditions.ts";

type Conditions = readonly Condition[];

/** KubeVirt writes a time it has not set as null, and expects to find null there. */
export function conditionOf(said: Condition, at: string | null = null): Condition {
  return { lastProbeTime: at, lastTransitionTime: at, ...said };
}

/** A condition is replaced when its status or its reason changes; another message alone changes nothing. */
export function withCondition(conditions: Conditions | undefined, next: Condition): Condition[] {
  const before = findCondition(conditions, next.type);
  if (before === undefined) return [...(conditions ?? []), next];
  const isKept = before.status === next.status && before.reason === next.reason;
  return (conditions ?? []).map((other) => (other === before && !isKept ? next : other));
}

export function withoutCondition(conditions: Conditions | undefined, type: string): Condition[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}
