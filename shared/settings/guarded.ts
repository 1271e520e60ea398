/** Who is guarded: by which causes, while which gate is on, against whose deletions. */
import type { Cause } from "../kube/evacuation.ts";
import type { FeatureGate, Settings } from "./settings.ts";

/**
 * `reason`: of the pod condition `DisruptionTarget`; its other reasons end pods by the eviction API or by the kubelet. Without
 * one: the requester tells the cause.
 */
export const GUARDED = {
  Preemption: { reason: "PreemptionByScheduler", gate: "PreemptionEvictionLiveMigration" },
  NoExecuteTaint: { reason: "DeletionByTaintManager", gate: "NoExecuteTaintEvictionLiveMigration" },
  NodeTermination: { reason: undefined, gate: "NodeTerminationEvictionLiveMigration" },
} as const satisfies Partial<Record<Cause, { readonly reason: string | undefined; readonly gate: FeatureGate }>>;

/** Causes whose deletions are refused for now. */
export type GuardCause = keyof typeof GUARDED;

export const GUARD_CAUSES = [
  "Preemption",
  "NoExecuteTaint",
  "NodeTermination",
] as const satisfies readonly GuardCause[];

export function isGateOn(cause: GuardCause, { featureGates }: Pick<Settings, "featureGates">): boolean {
  return featureGates.includes(GUARDED[cause].gate);
}

type Guarding = Pick<Settings, "featureGates" | "guard">;

/** Whether this user deletes the pods of a node that is about to end. */
export function endsNodes(requester: string, { guard }: Pick<Settings, "guard">): boolean {
  return guard.nodeTerminators.includes(requester);
}

export function isRequester(requester: string, settings: Pick<Settings, "guard">): boolean {
  return settings.guard.requesters.includes(requester) || endsNodes(requester, settings);
}

/** Whether a deletion by this user may be refused: of any other nothing needs to be known. */
export function mayBeRefused(requester: string, settings: Guarding): boolean {
  return isRequester(requester, settings) && GUARD_CAUSES.some((cause) => isGateOn(cause, settings));
}
