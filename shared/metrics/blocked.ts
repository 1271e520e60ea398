/**
 * What keeps an evacuation from going on until a person acts.
 *
 * KubeVirt chooses most of these words, and a later version of it may have others: a label must have a bound.
 */
import type { EvacuationFacts } from "../policy/facts.ts";

/** KubeVirt's are those of the condition LiveMigratable (staging/src/kubevirt.io/api/core/v1/types.go). */
export const BLOCKED_REASONS = [
  "External",
  "NotScheduled",
  "BeingReceived",
  "DecentralizedMigration",
  "PersonsMigration",
  "NotLiveMigratable",
  "DisksNotLiveMigratable",
  "InterfaceNotLiveMigratable",
  "HotplugNotLiveMigratable",
  "CPUModeLiveMigratable",
  "VirtIOFSNotLiveMigratable",
  "HostDeviceNotLiveMigratable",
  "SEVNotLiveMigratable",
  "SecureExecutionNotLiveMigratable",
  "TDXNotLiveMigratable",
  "NoTSCFrequencyNotLiveMigratable",
  "HypervPassthroughNotLiveMigratable",
  "PersistentReservationNotLiveMigratable",
  "DecentralizedNotLiveMigratable",
  "NotMigratable",
  "Other",
] as const;

export type BlockedReason = (typeof BLOCKED_REASONS)[number];

/** Undefined: it goes on, or waits for something that ends by itself. */
export function blockedReasonOf({ status: { phase, reason } }: EvacuationFacts): BlockedReason | undefined {
  if (phase !== "Blocked" && phase !== "WaitingForOwner") return undefined;
  return BLOCKED_REASONS.find((known) => known === reason) ?? "Other";
}
