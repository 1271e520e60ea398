/** Defines the Evacuation: its spec, status, phases and causes. */
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

/** The reason why a migration was created. `WorkloadUpdate`: KubeVirt replaces a launcher pod of an older version. */
export type MigrationCause = Cause | "WorkloadUpdate";

export type Urgency = "normal" | "urgent";

/**
 * With an `urgent` cause, the guest is stopped unless it migrates in time. `asksToEvict` is true if a
 * PodDisruptionBudget can refuse the request. `mark` says what makes KubeVirt evacuate the VMI: the Eviction, which
 * KubeVirt's webhook reviews (`OfRequest`), a request by Lifeboat (`Asked`), or the drain taint (`NotNeeded`).
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
 * `Stalled` means that the migration has not started although KubeVirt's limits allow it. `Released` means that the
 * Evacuation has ended and is cleaned up, and that its VM runs again if Lifeboat had stopped it.
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

/** Returns whether KubeVirt has to act next, for example to migrate the VM. */
export function isUnderWay({ status: { phase } }: Pick<EvacuationFacts, "status">): boolean {
  return phase === undefined || !(WAITING as readonly Phase[]).includes(phase);
}

export function isToBeReleased({ status }: Pick<EvacuationFacts, "status">): boolean {
  const released = status.conditions.find(({ type }) => type === "Released");
  if (status.phase !== "Stopped") return released?.status === "False";
  // Lifeboat 0.3 wrote the condition Released without a message, even before the VM was started. Such a condition does
  // not count.
  return released?.status !== "True" || released.message === "";
}

/** Returns whether Lifeboat stopped the VM and still has to start it. */
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

/** How a VM leaves its node. Only NodeEvacuations restart or stop VMs. */
export const WAYS = ["LiveMigration", "Restart", "ShutDown"] as const;
export type Way = (typeof WAYS)[number];

/** The status of an Evacuation. Times are RFC 3339. */
export interface EvacuationStatus {
  readonly virtualMachineInstanceUID?: string | undefined;
  readonly podName?: string | undefined;
  readonly podUID?: string | undefined;
  readonly sourceNode?: string | undefined;
  /** Absent until a reconcile has written the status. */
  readonly phase?: Phase | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** The number of failed migrations, including those of the VM's earlier Evacuation. */
  readonly attempts: number;
  readonly migration?: { readonly name: string; readonly uid: string } | undefined;
  readonly lastFailedMigration?: { readonly name: string; readonly uid: string } | undefined;
  readonly targetNode?: string | undefined;
  readonly startTime?: string | undefined;
  readonly completionTime?: string | undefined;
  readonly nextAttemptTime?: string | undefined;
  readonly observedRetryAt?: string | undefined;
  /** The requesters besides `spec.requestedBy`. If the list is full, later requesters are not added. */
  readonly requesters?: readonly string[] | undefined;
  readonly conditions: readonly EvacuationCondition[];
}

export interface EvacuationSpec {
  readonly vmiName: string;
  readonly cause: Cause;
  readonly requestedBy: string;
  readonly intent: "Evacuate" | "Withdrawn";
  readonly retryAt?: string | undefined;
  /** The time until which deletions of the pod are refused (RFC 3339). */
  readonly deadline?: string | undefined;
  /** The pod that the VM has to leave. If absent, the VM leaves the pod in which it runs. */
  readonly pod?: { readonly name?: string | undefined; readonly uid: string } | undefined;
  readonly inherited?: { readonly attempts: number; readonly notBefore?: string | undefined } | undefined;
  readonly nodeEvacuation?: { readonly name: string; readonly uid: string } | undefined;
  /** How the VM leaves its node. If absent, by live migration. */
  readonly by?: Way | undefined;
  /** The run strategy of the VM before it was restarted or stopped. */
  readonly runStrategy?: string | undefined;
}

/** The maximum length of each text or list that Lifeboat writes, and the maximum value of each number. */
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
  /** The creation time by the API server's clock in milliseconds since the epoch, or 0 if unknown. */
  readonly createdAt: number;
  readonly spec: EvacuationSpec;
  readonly status: EvacuationStatus;
}
