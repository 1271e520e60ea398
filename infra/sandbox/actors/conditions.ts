/**
 * Conditions of a status. A condition's transition time changes only if the condition changes between True, False and
 * Unknown.
 */
export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastProbeTime?: string | null;
  lastTransitionTime?: string | null;
  observedGeneration?: number;
}

export function findCondition<C extends Condition>(conditions: readonly C[] | undefined, type: string): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/** Returns the conditions with `next`, which replaces the condition of the same type, or is added at the end. */
export function withCondition<C extends Condition>(conditions: readonly C[] | undefined, next: C, now: string): C[] {
  const before = findCondition(conditions, next.type);
  const unchanged = before !== undefined && before.status === next.status;
  const lastTransitionTime = unchanged ? before.lastTransitionTime : now;
  const condition = { ...next, ...(lastTransitionTime !== undefined && { lastTransitionTime }) };
  if (before === undefined) return [...(conditions ?? []), condition];
  return (conditions ?? []).map((other) => (other === before ? condition : other));
}
