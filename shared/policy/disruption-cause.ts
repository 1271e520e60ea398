/**
 * Recognising a disruption that does not ask: what is about to end this pod, and since when.
 * Owns: condition, record, requester and gate → cause. Does not own: what is done about it (deletion.ts, disruption.ts).
 * Upstream: pod condition `DisruptionTarget`, k8s.io/api/core/v1.
 */
import type { Cause } from "./cause.ts";
import type { DisruptionTarget, PodFacts, VmiFacts } from "./facts.ts";
import { beganAt, type EvacuationRecord, isActive, restingRecord } from "./record.ts";
import type { FeatureGate, Settings } from "./settings.ts";

/** Causes whose deletions are held back. */
export type GuardCause = Extract<Cause, "Preemption" | "NoExecuteTaint">;

export const GUARD_CAUSES: readonly GuardCause[] = ["Preemption", "NoExecuteTaint"];

/** Reasons of the condition that are ours to answer; the others end pods by the eviction API or by the kubelet. */
export const CAUSE_OF_REASON: Readonly<Record<string, GuardCause>> = {
  PreemptionByScheduler: "Preemption",
  DeletionByTaintManager: "NoExecuteTaint",
};

export const GATE_OF_CAUSE = {
  Preemption: "PreemptionEvictionLiveMigration",
  NoExecuteTaint: "NoExecuteTaintEvictionLiveMigration",
} as const satisfies Record<GuardCause, FeatureGate>;

export interface Disruption {
  readonly cause: GuardCause;
  /** Milliseconds since the epoch, never later than now: the deadline counts from here. */
  readonly since: number;
}

export function isGuardCause(cause: Cause): cause is GuardCause {
  return cause === "Preemption" || cause === "NoExecuteTaint";
}

/** The condition while it is True: status False is history. */
function conditionOf({ disruptionTarget }: PodFacts): DisruptionTarget | undefined {
  return disruptionTarget?.active === true ? disruptionTarget : undefined;
}

export function isPreempted(pod: PodFacts): boolean {
  return causeOfReason(conditionOf(pod)?.reason) === "Preemption";
}

/** Whether a deletion by this user can be one at all; of any other nothing needs to be known. */
export function isOfInterest(requester: string, { featureGates, guard }: Settings): boolean {
  const gated = GUARD_CAUSES.some((cause) => featureGates.includes(GATE_OF_CAUSE[cause]));
  return gated && guard.mode !== "Off" && guard.requesters.includes(requester);
}

type GuardRecord = EvacuationRecord & { readonly cause: GuardCause };

/** A record of a disruption that began with this pod. One that claims to begin later than now is nobody's. */
function ofPod(record: EvacuationRecord | undefined, podUID: string, now: Date): GuardRecord | undefined {
  if (record === undefined || record.podUID !== podUID || beganAt(record, now) === undefined) return undefined;
  return isGuardCause(record.cause) ? { ...record, cause: record.cause } : undefined;
}

/** The record of a disruption under way that began with this pod. */
export function guardRecord(vmi: VmiFacts | undefined, podUID: string, now: Date): GuardRecord | undefined {
  return isActive(vmi?.record, vmi?.nodeName) ? ofPod(vmi?.record, podUID, now) : undefined;
}

/** The same, given up or cancelled a moment ago: until it has rested no new one begins, but its deadline still counts. */
export function restingGuardRecord(
  vmi: VmiFacts | undefined,
  podUID: string,
  { settings, now }: { readonly settings: Settings; readonly now: Date },
): GuardRecord | undefined {
  return vmi === undefined ? undefined : ofPod(restingRecord(vmi, settings, now), podUID, now);
}

/**
 * The disruption that the pod is under. The first sighting needs the True condition; from then on the record counts, for
 * kube-controller-manager resets the condition after 120 s even while deletions keep coming. While the condition is True
 * it says who is at work now. A cause whose gate is off is none.
 */
export function disruptionOf(
  pod: PodFacts,
  { vmi, launcherUID }: { readonly vmi: VmiFacts | undefined; readonly launcherUID: string },
  settings: Settings,
  now: Date,
): Disruption | undefined {
  const kept = guardRecord(vmi, launcherUID, now) ?? restingGuardRecord(vmi, launcherUID, { settings, now });
  const condition = conditionOf(pod);
  const cause = causeOfReason(condition?.reason) ?? kept?.cause;
  if (cause === undefined || !settings.featureGates.includes(GATE_OF_CAUSE[cause])) return undefined;
  return { cause, since: earliest([kept?.since, condition?.since], now) };
}

/** Of those times that are known; one that is yet to come is now. */
function earliest(times: readonly (string | undefined)[], now: Date): number {
  const known = times.map((time) => Date.parse(time ?? "")).filter((time) => !Number.isNaN(time));
  return Math.min(now.getTime(), ...known);
}

function causeOfReason(reason: string | undefined): GuardCause | undefined {
  return reason !== undefined && Object.hasOwn(CAUSE_OF_REASON, reason) ? CAUSE_OF_REASON[reason] : undefined;
}
