/** Calculates the status of a PodDisruptionBudget from its pods. */
import { isTrue, findCondition, withCondition } from "./conditions.ts";
import type { Pod, PodDisruptionBudget } from "./resources.ts";

type Status = NonNullable<PodDisruptionBudget["status"]>;
type Spec = NonNullable<PodDisruptionBudget["spec"]>;

/**
 * After a granted eviction, the pod counts as disrupted for this time. If its deletion has not started by then, the pod
 * is overdue.
 */
const DELETION_TIMEOUT_MS = 120_000;

export interface Expectation {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
}

/** Returns whether the expected number of pods depends on the replicas of the pods' controllers. */
export function needsScale({ minAvailable, maxUnavailable }: Spec): boolean {
  return maxUnavailable !== undefined || (minAvailable !== undefined && typeof minAvailable === "string");
}

/**
 * Returns the expected number of pods, and the required number of healthy pods. `scale` is the sum of the replicas of
 * the pods' controllers.
 */
export function expectationOf(spec: Spec, podCount: number, scale: number): Expectation {
  const { minAvailable, maxUnavailable } = spec;
  if (maxUnavailable !== undefined)
    return { expectedPods: scale, desiredHealthy: Math.max(0, scale - scaled(maxUnavailable, scale)) };
  if (minAvailable === undefined) return { expectedPods: podCount, desiredHealthy: 0 };
  if (typeof minAvailable === "number") return { expectedPods: podCount, desiredHealthy: minAvailable };
  return { expectedPods: scale, desiredHealthy: scaled(minAvailable, scale) };
}

/** Converts a number or a percentage to a number. Percentages are rounded up. */
function scaled(value: number | string, total: number): number {
  if (typeof value === "number") return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  if (percent === undefined) throw new Error(`invalid value for IntOrString: invalid type: string is not a percentage`);
  return Math.ceil((Number(percent) * total) / 100);
}

export interface Disrupted {
  /** Pods whose eviction was granted at most two minutes ago, and whose deletion has not started. */
  readonly disruptedPods: Record<string, string>;
  /** Pods whose eviction was granted more than two minutes ago, and whose deletion has not started. */
  readonly overdue: readonly Pod[];
  /** The time at which the first pod of `disruptedPods` becomes overdue. */
  readonly recheckAt?: number;
}

export function stillDisrupted(pdb: PodDisruptionBudget, pods: readonly Pod[], now: number): Disrupted {
  const disruptedPods: Record<string, string> = {};
  const overdue: Pod[] = [];
  let recheckAt: number | undefined;
  for (const pod of pods) {
    const since = pdb.status?.disruptedPods?.[pod.metadata.name];
    if (since === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    const expected = Date.parse(since) + DELETION_TIMEOUT_MS;
    if (expected < now) overdue.push(pod);
    else {
      disruptedPods[pod.metadata.name] = since;
      recheckAt = Math.min(recheckAt ?? expected, expected);
    }
  }
  return { disruptedPods, overdue, ...(recheckAt !== undefined && { recheckAt }) };
}

export interface Count extends Expectation {
  readonly pods: readonly Pod[];
  readonly disruptedPods: Record<string, string>;
}

export function statusOf(pdb: PodDisruptionBudget, count: Count, now: string): Status {
  const { expectedPods, desiredHealthy, disruptedPods } = count;
  const currentHealthy = count.pods.filter((pod) => isHealthy(pod, disruptedPods)).length;
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const reason = disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods";
  const { generation: observedGeneration = 0 } = pdb.metadata;
  return {
    currentHealthy,
    desiredHealthy,
    disruptionsAllowed,
    expectedPods,
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
    conditions: conditionsOf(pdb.status, { reason, message: "", observedGeneration }, now),
    observedGeneration,
  };
}

/** Returns a status that allows no disruption, for a PodDisruptionBudget whose numbers cannot be calculated. */
export function failedStatus({ status }: PodDisruptionBudget, message: string, now: string): Status {
  const { observedGeneration } = status ?? {};
  return {
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0,
    ...status,
    disruptionsAllowed: 0,
    conditions: conditionsOf(status, { reason: "SyncFailed", message, observedGeneration }, now),
  };
}

interface Said {
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number | undefined;
}

function conditionsOf(status: Status | undefined, { observedGeneration, ...said }: Said, now: string) {
  const type = "DisruptionAllowed";
  const holds = said.reason === "SufficientPods" ? "True" : "False";
  const seen = observedGeneration === undefined ? {} : { observedGeneration };
  return withCondition(status?.conditions, { type, status: holds, ...said, ...seen, lastTransitionTime: now }, now);
}

export function sameStatus(before: Status | undefined, after: Status): boolean {
  if (before === undefined) return false;
  const [old, next] = [before, after].map((status) => findCondition(status.conditions, "DisruptionAllowed"));
  return (
    (["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods", "observedGeneration"] as const).every(
      (field) => before[field] === after[field],
    ) &&
    JSON.stringify(before.disruptedPods ?? {}) === JSON.stringify(after.disruptedPods ?? {}) &&
    (["status", "reason", "message", "observedGeneration"] as const).every((field) => old?.[field] === next?.[field])
  );
}

function isHealthy(pod: Pod, disruptedPods: Readonly<Record<string, string>>): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    disruptedPods[pod.metadata.name] === undefined &&
    isTrue(pod.status?.conditions, "Ready")
  );
}
