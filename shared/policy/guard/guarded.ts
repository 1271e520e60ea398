/**
 * Who is guarded: by which causes, while which gate is on, against whose deletions.
 * Owns: these conditions. Does not own: recognising a disruption (disruption-cause.ts), what is done about it (deletion.ts).
 */
import type { Cause } from "../cause.ts";
import type { FeatureGate, Settings } from "../settings.ts";

/** `reason`: of the pod condition `DisruptionTarget`; its other reasons end pods by the eviction API or by the kubelet. */
export const GUARDED = {
  Preemption: { reason: "PreemptionByScheduler", gate: "PreemptionEvictionLiveMigration" },
  NoExecuteTaint: { reason: "DeletionByTaintManager", gate: "NoExecuteTaintEvictionLiveMigration" },
} as const satisfies Partial<Record<Cause, { readonly reason: string; readonly gate: FeatureGate }>>;

/** Causes whose deletions are held back. */
export type GuardCause = keyof typeof GUARDED;

export const GUARD_CAUSES = ["Preemption", "NoExecuteTaint"] as const satisfies readonly GuardCause[];

export function isGateOn(cause: GuardCause, { featureGates }: Pick<Settings, "featureGates">): boolean {
  return featureGates.includes(GUARDED[cause].gate);
}

type Guarding = Pick<Settings, "featureGates" | "guard">;

/** Whether deletions for this cause are held back at all. */
export function isGuardOn(cause: GuardCause, settings: Guarding): boolean {
  return isGateOn(cause, settings) && settings.guard.mode !== "Off";
}

/** Whether a deletion by this user may be held: of any other nothing needs to be known. */
export function mayBeHeld(requester: string, settings: Guarding): boolean {
  return settings.guard.requesters.includes(requester) && GUARD_CAUSES.some((cause) => isGuardOn(cause, settings));
}
