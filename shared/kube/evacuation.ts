/** An `Evacuation`: why a VM moves, its phases, spec and status. */
import { DESCHEDULER, REQUESTED_BY_ANNOTATION } from "./names.ts";
import type { NamespacedName } from "./facts.ts";

export const CAUSES = [
  "ApiEviction",
  "Descheduler",
  "Preemption",
  "NoExecuteTaint",
  "DeviceTaint",
  "NodePressure",
  "DrainTaint",
  "Operator",
  "NodeTermination",
  "NodeEvacuation",
] as const;

export type Cause = (typeof CAUSES)[number];

/**
 * Why a migration was created: for an evacuation, or by KubeVirt's workload updater, which replaces launchers of an
 * older version.
 */
export type MigrationCause = Cause | "WorkloadUpdate";

export type Urgency = "normal" | "urgent";

/**
 * `urgent`: the guest ends unless it moves in time. `asksToEvict`: a budget can refuse the eviction. `mark`: KubeVirt's
 * webhook marks the VM by itself (`OfRequest`), or Lifeboat requests the mark (`Asked`).
 */
export const CAUSE = {
  ApiEviction: { urgency: "normal", asksToEvict: true, mark: "OfRequest" },
  Descheduler: { urgency: "normal", asksToEvict: true, mark: "Asked" },
  Preemption: { urgency: "urgent", asksToEvict: false, mark: "Asked" },
  NoExecuteTaint: { urgency: "urgent", asksToEvict: false, mark: "Asked" },
  DeviceTaint: { urgency: "urgent", asksToEvict: false, mark: "Asked" },
  NodePressure: { urgency: "urgent", asksToEvict: false, mark: "Asked" },
  DrainTaint: { urgency: "normal", asksToEvict: true, mark: "NotNeeded" },
  Operator: { urgency: "normal", asksToEvict: true, mark: "Asked" },
  NodeTermination: { urgency: "urgent", asksToEvict: false, mark: "Asked" },
  NodeEvacuation: { urgency: "normal", asksToEvict: true, mark: "Asked" },
} as const satisfies Record<Cause, CauseFacts>;

interface CauseFacts {
  readonly urgency: Urgency;
  readonly asksToEvict: boolean;
  readonly mark: "OfRequest" | "Asked" | "NotNeeded";
}

export function causeOfEviction(annotations: Readonly<Record<string, string>>): "ApiEviction" | "Descheduler" {
  return annotations[REQUESTED_BY_ANNOTATION] === DESCHEDULER ? "Descheduler" : "ApiEviction";
}

export const ACTIVE_PHASES = [
  "Pending",
  "Migrating",
  "BackingOff",
  "WaitingForExternalController",
  "Blocked",
  "Restarting",
  "Stopping",
] as const;
export const END_PHASES = ["Moved", "Restarted", "Stopped", "Abandoned", "Withdrawn", "Duplicate", "Gone"] as const;

/**
 * `Stalled`: the migration has not started although KubeVirt's limits allow it. `Released`: the Evacuation has ended,
 * its mark and waiting migrations are removed, and a VM that Lifeboat stopped has started again.
 */
export const CONDITION_TYPES = ["Marked", "Stalled", "Evacuated", "Failed", "Released"] as const;

export type ActivePhase = (typeof ACTIVE_PHASES)[number];
export type EndPhase = (typeof END_PHASES)[number];
export type Phase = ActivePhase | EndPhase;

export function isEnd(phase: Phase): phase is EndPhase {
  return (END_PHASES as readonly string[]).includes(phase);
}

export function isActive({ status: { phase } }: EvacuationFacts): boolean {
  return phase === undefined || !isEnd(phase);
}

const WAITING = ["BackingOff", "WaitingForExternalController", "Blocked", ...END_PHASES] as const;

/** Returns whether the Evacuation waits for KubeVirt, and not for a time or a person. */
export function isUnderWay({ status: { phase } }: Pick<EvacuationFacts, "status">): boolean {
  return phase === undefined || !(WAITING as readonly Phase[]).includes(phase);
}

export function isToBeReleased({ status }: Pick<EvacuationFacts, "status">): boolean {
  const released = status.conditions.find(({ type }) => type === "Released");
  if (status.phase !== "Stopped") return released?.status === "False";
  // Lifeboat 0.3 wrote the condition Released of a stopped VM without a message. Such a condition does not show that
  // the VM was released.
  return released?.status !== "True" || released.message === "";
}

/** Returns whether Lifeboat stopped the VM, has to start the VM again, and has not seen the VM running since. */
export function isHeldOff(evacuation: Pick<EvacuationFacts, "status">): boolean {
  return evacuation.status.phase === "Stopped" && isToBeReleased(evacuation);
}

export function isUnfinished(evacuation: EvacuationFacts): boolean {
  return isActive(evacuation) || isToBeReleased(evacuation);
}

export interface EvacuationCondition {
  readonly type: (typeof CONDITION_TYPES)[number];
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** How a VM leaves its node. Only a NodeEvacuation restarts or stops VMs. */
export const WAYS = ["LiveMigration", "Restart", "ShutDown"] as const;
export type Way = (typeof WAYS)[number];

/** The `status` of an `Evacuation`. Times are RFC 3339. */
export interface EvacuationStatus {
  readonly virtualMachineInstanceUID?: string | undefined;
  readonly podName?: string | undefined;
  readonly podUID?: string | undefined;
  readonly sourceNode?: string | undefined;
  /** The phase. Absent: no reconcile has written the status yet. */
  readonly phase?: Phase | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** The number of failed migrations, including failed migrations of an earlier Evacuation of the VM. */
  readonly attempts: number;
  readonly migration?: { readonly name: string; readonly uid: string } | undefined;
  /** The newest failed migration that `attempts` counts. */
  readonly lastFailedMigration?: { readonly name: string; readonly uid: string } | undefined;
  readonly targetNode?: string | undefined;
  readonly startTime?: string | undefined;
  readonly completionTime?: string | undefined;
  readonly nextAttemptTime?: string | undefined;
  readonly observedRetryAt?: string | undefined;
  /** Further requesters, besides `spec.requestedBy`. The list has a maximum length: later requesters are left out. */
  readonly requesters?: readonly string[] | undefined;
  readonly conditions: readonly EvacuationCondition[];
}

/** The `spec` of an `Evacuation`: which VM has to leave which pod, and why. */
export interface EvacuationSpec {
  readonly vmiName: string;
  readonly cause: Cause;
  readonly requestedBy: string;
  readonly intent: "Evacuate" | "Withdrawn";
  readonly retryAt?: string | undefined;
  /** The time until which deletions of the pod are refused (RFC 3339). */
  readonly deadline?: string | undefined;
  /** The pod that has to leave. Absent if a person created the Evacuation: the VM then leaves its present pod. */
  readonly pod?: { readonly name?: string | undefined; readonly uid: string } | undefined;
  readonly inherited?: { readonly attempts: number; readonly notBefore?: string | undefined } | undefined;
  /** The NodeEvacuation that this Evacuation belongs to. */
  readonly nodeEvacuation?: { readonly name: string; readonly uid: string } | undefined;
  /** How the VM leaves. Absent: by live migration. */
  readonly by?: Way | undefined;
  /** The run strategy of the VM before it was restarted or stopped. */
  readonly runStrategy?: string | undefined;
}

/** The longest texts and lists and the largest numbers that Lifeboat writes. */
export const EVACUATION_BOUNDS = {
  "spec.requestedBy": 1024,
  "spec.inherited.attempts": 1000,
  "status.message": 1024,
  "status.requesters": 8,
  "status.requesters[]": 256,
  "status.conditions": CONDITION_TYPES.length,
  "status.conditions[].message": 1024,
} as const;

export interface EvacuationFacts extends NamespacedName {
  readonly uid: string;
  readonly resourceVersion: string;
  /** When the object was created, in milliseconds since the epoch, by the API server's clock. 0 if unknown. */
  readonly createdAt: number;
  readonly spec: EvacuationSpec;
  readonly status: EvacuationStatus;
}
