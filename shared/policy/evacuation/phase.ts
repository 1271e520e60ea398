/**
 * Phases of an `Evacuation`.
 * Owns: the closed lists, which phases are ends, and what each means in words. Does not own: which facts lead to which
 * (evacuation.ts).
 */
import type { EvacuationFacts } from "../facts.ts";

export const ACTIVE_PHASES = ["Pending", "Migrating", "BackingOff", "WaitingForOwner", "Blocked"] as const;
export const END_PHASES = ["Moved", "Abandoned", "Withdrawn", "Duplicate", "Gone"] as const;

/** For programs, beside the phase. `Stalled`: its migration has not begun although KubeVirt's limits would allow it. */
export const CONDITION_TYPES = ["Marked", "Stalled", "Evacuated", "Failed"] as const;

export type ActivePhase = (typeof ACTIVE_PHASES)[number];
export type EndPhase = (typeof END_PHASES)[number];
export type Phase = ActivePhase | EndPhase;

export const PHASE_MEANING = {
  Pending: "the VM is marked, or about to be; its migration has not begun",
  Migrating: "a migration of the VM is unfinished; `reason` says whether it waits in KubeVirt's queue or runs",
  BackingOff: "an attempt has failed; the next one begins at `nextAttemptTime`",
  WaitingForOwner: "the eviction strategy is External: the VM is marked, and its owner moves it",
  Blocked: "the VM cannot be migrated; `reason` is KubeVirt's",
  Moved: "the VM has left the pod; `targetNode` says where it runs now",
  Abandoned: "every attempt has failed, or the VM cannot be moved at all; the mark has been removed",
  Withdrawn: "the request was withdrawn: `spec.intent`, the mark, or the taint that it was for",
  Duplicate: "an older Evacuation of the same pod goes on",
  Gone: "the VM has ended, or there is none of that name",
} as const satisfies Record<Phase, string>;

export function isEnd(phase: Phase): phase is EndPhase {
  return (END_PHASES as readonly string[]).includes(phase);
}

/** Whether it has not ended. */
export function isActive({ status: { phase } }: EvacuationFacts): boolean {
  return phase === undefined || !isEnd(phase);
}
