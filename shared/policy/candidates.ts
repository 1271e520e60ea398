/**
 * VMIs with a migration to reserve, and those whose reserved one is not given to anybody else.
 * Owns: who they are, their order. Does not own: slots (slots.ts), stages (stage.ts).
 */
import { URGENCY } from "./cause.ts";
import { keyOf, type VmiFacts } from "./facts.ts";
import { justEndedRecord, restSeconds } from "./record.ts";
import type { Settings } from "./settings.ts";
import type { Candidate, Claim } from "./slots.ts";
import type { Stage } from "./stage.ts";

interface Staged {
  readonly vmi: VmiFacts;
  readonly stage: Stage;
}

/** Sorts urgent ones first, then whoever has waited longest. */
function rank({ record, vmi }: Candidate): string {
  return `${URGENCY[record.cause] === "urgent" ? 0 : 1} ${record.since} ${keyOf(vmi)}`;
}

export function readyOf(staged: readonly Staged[]): readonly Candidate[] {
  return staged
    .flatMap(({ vmi, stage }) => (stage.stage === "Ready" ? [{ vmi, record: stage.record }] : []))
    .toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** Those that need no slot just now, and may again: nobody's is taken away, for its migration may be on its way. */
const MAY_BE_READY: readonly Stage["stage"][] = [
  // For whoever began to look a little earlier, or whose clock is fast, it has waited long enough.
  "Waiting",
  // By somebody else's migration: for whoever does not see that any more, or not yet, it is ready.
  "Migrating",
  "Settling",
];

export function waitingOf(staged: readonly Staged[]): readonly Candidate[] {
  return staged.flatMap(({ vmi, stage }) => {
    const record = MAY_BE_READY.includes(stage.stage) && "record" in stage ? stage.record : undefined;
    return record === undefined ? [] : [{ vmi, record }];
  });
}

/**
 * Taken back, or ended without a move just now: whoever decided on the migration before that may create it still, though
 * another evacuation has begun since.
 */
export function endedOf(staged: readonly Staged[], settings: Settings, now: Date): readonly Claim[] {
  return staged.flatMap(({ vmi, stage }) => {
    const ended = stage.stage === "Withdrawn" ? stage.record : justEndedRecord(vmi, settings, now);
    const earlier = (vmi.record?.resting ?? []).filter((one) => restSeconds(one, settings, now) > 0);
    return [...(ended === undefined ? [] : [ended]), ...earlier].map((record) => ({ vmi, record }));
  });
}
