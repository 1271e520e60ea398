/**
 * How hard a VM's migrations try to converge: the value of the label that the shipped MigrationPolicy selects.
 *
 * KubeVirt looks for a policy when it hands a VM over to the target pod, so the label is there before the next migration: KubeVirt itself
 * waits 20 s or longer after a failed one.
 */
import { CAUSE, type Cause, type Urgency } from "../cause.ts";
import type { VmiFacts } from "../facts.ts";
import type { Settings } from "../settings.ts";

/** When an evacuation begins. The owner of a VM decides whether its guest may be slowed down or paused. */
export function urgencyOf({ isGentle }: VmiFacts, cause: Cause): Urgency {
  return isGentle === true ? "normal" : CAUSE[cause].urgency;
}

/** Whether the attempt after so many failed ones is the last, and the VM's label does not say so yet. */
export function isMadeUrgent({ isGentle, evacuationLabel }: VmiFacts, attempts: number, settings: Settings): boolean {
  const isLast = attempts === settings.evacuation.maxAttempts - 1;
  return isLast && isGentle !== true && evacuationLabel !== "urgent";
}
