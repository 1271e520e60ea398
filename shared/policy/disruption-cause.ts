/**
 * Recognising a disruption that does not ask: what is about to end this pod, and since when.
 * Owns: condition, record, requester and gate → cause. Does not own: what is done about it (deletion.ts, disruption.ts).
 * Upstream: pod condition `DisruptionTarget`, k8s.io/api/core/v1.
 */
import type { Cause } from "./cause.ts";
import type { PodFacts, VmiFacts } from "./facts.ts";
import { type EvacuationRecord, isActive } from "./record.ts";
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

/** Whether a deletion by this user can be one at all; of any other nothing needs to be known. */
export function isOfInterest(requester: string, { featureGates, guard }: Settings): boolean {
  const gated = GUARD_CAUSES.some((cause) => featureGates.includes(GATE_OF_CAUSE[cause]));
  return gated && guard.mode !== "Off" && guard.requesters.includes(requester);
}

/** The record of a disruption under way that began with this pod. */
export function guardRecord(
  vmi: VmiFacts | undefined,
  podUID: string,
): (EvacuationRecord & { cause: GuardCause }) | undefined {
  const record = vmi?.record;
  if (record === undefined || record.podUID !== podUID || !isActive(record, vmi?.nodeName)) return undefined;
  return isGuardCause(record.cause) ? { ...record, cause: record.cause } : undefined;
}

/**
 * The disruption that the pod is under. The first sighting needs the True condition; from then on the record counts, for
 * kube-controller-manager resets the condition after 120 s even while deletions keep coming. A cause whose gate is off
 * is none.
 */
export function disruptionOf(
  pod: PodFacts,
  { vmi, launcherUID }: { readonly vmi: VmiFacts | undefined; readonly launcherUID: string },
  settings: Settings,
  now: Date,
): Disruption | undefined {
  const record = guardRecord(vmi, launcherUID);
  const condition = pod.disruptionTarget?.active === true ? pod.disruptionTarget : undefined;
  const cause = record?.cause ?? causeOfReason(condition?.reason);
  if (cause === undefined || !settings.featureGates.includes(GATE_OF_CAUSE[cause])) return undefined;
  const times = [record?.since, condition?.since].map((time) => (time === undefined ? Number.NaN : Date.parse(time)));
  const known = times.filter((time) => !Number.isNaN(time));
  return { cause, since: Math.min(now.getTime(), ...known) };
}

function causeOfReason(reason: string | undefined): GuardCause | undefined {
  return reason !== undefined && Object.hasOwn(CAUSE_OF_REASON, reason) ? CAUSE_OF_REASON[reason] : undefined;
}
