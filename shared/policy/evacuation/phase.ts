/** Phases of an `Evacuation`. */
import type { EvacuationFacts } from "../facts.ts";

export const ACTIVE_PHASES = ["Pending", "Migrating", "BackingOff", "WaitingForOwner", "Blocked"] as const;
export const END_PHASES = ["Moved", "Abandoned", "Withdrawn", "Duplicate", "Gone"] as const;

/**
 * For programs, beside the phase. `Stalled`: its migration has not begun although KubeVirt's limits would allow it. `Released`:
 * it has ended, and its mark and its migrations that had not begun are taken back; False until they are.
 */
export const CONDITION_TYPES = ["Marked", "Stalled", "Evacuated", "Failed", "Released"] as const;

export type ActivePhase = (typeof ACTIVE_PHASES)[number];
export type EndPhase = (typeof END_PHASES)[number];
export type Phase = ActivePhase | EndPhase;

export function isEnd(phase: Phase): phase is EndPhase {
  return (END_PHASES as readonly string[]).includes(phase);
}

/** Whether it has not ended. */
export function isActive({ status: { phase } }: EvacuationFacts): boolean {
  return phase === undefined || !isEnd(phase);
}

/** Whether it has ended, and something of it is still to be taken back. */
export function isToBeReleased({ status }: Pick<EvacuationFacts, "status">): boolean {
  return status.conditions.some(({ type, status: is }) => type === "Released" && is === "False");
}

/** Whether a look has anything to do for it. */
export function isUnfinished(evacuation: EvacuationFacts): boolean {
  return isActive(evacuation) || isToBeReleased(evacuation);
}
