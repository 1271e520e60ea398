/** What is true of a virtual machine, in sentences. */
import { isActive } from "../../../shared/policy/evacuation/phase.ts";
import { isMarked } from "../../../shared/policy/evacuation/mark.ts";
import { retryOf } from "../../../shared/policy/evacuation/api.ts";
import { type EvacuationFacts, isFinal } from "../../../shared/policy/facts.ts";
import { OUTCOMES } from "../../../shared/pass/explanation.ts";
import type { Act } from "../paths.ts";
import type { VmView } from "../vm-reads.ts";
import { CAUSE_WORDS, PHASE_WORDS } from "./phase-words.ts";
import { sentence } from "./text.ts";

/** Newest first. */
export function byNewest(evacuations: readonly EvacuationFacts[]): readonly EvacuationFacts[] {
  return evacuations.toSorted((a, b) => b.createdAt - a.createdAt || (a.name < b.name ? 1 : -1));
}

/** Of several, the oldest goes on: the others are its duplicates in a moment. */
export function currentOf(evacuations: readonly EvacuationFacts[]): EvacuationFacts | undefined {
  return byNewest(evacuations).findLast(isActive);
}

/** The most important, in a sentence or two. */
export function vmVerdict(view: VmView): string {
  const { vmi, evacuations } = view;
  const current = currentOf(evacuations);
  if (vmi === undefined) return "The VM does not run. What is left is its past.";
  if (isFinal(vmi)) return "The VM has ended. What is left is its past.";
  if (current !== undefined) {
    const { spec, status } = current;
    return `The VM ${PHASE_WORDS[status.phase ?? "Pending"].means}. It has to leave its node because of ${CAUSE_WORDS[spec.cause]}.`;
  }
  return `The VM stays where it is. ${evictionWords(view).outcome}`;
}

export interface EvictionWords {
  readonly answer: string;
  readonly mood: "good" | "busy" | "warn" | "bad";
  /** What becomes of the guest. */
  readonly outcome: string;
  readonly details: readonly string[];
}

const MOVES = new Set(["EvacuationTriggered", "EvacuationInProgress", "Migrating"]);

export function evictionWords({ decision }: Pick<VmView, "decision">): EvictionWords {
  if (decision === undefined) {
    const outcome = "There is no pod of it that could be evicted.";
    return { answer: "No pod", mood: "warn", outcome, details: [] };
  }
  const { verdict, reason } = decision;
  const known = OUTCOMES[reason];
  if (verdict === "Allow") {
    const outcome = `An eviction would be allowed${known === undefined ? "" : `: ${known}`}.`;
    return { answer: `Allowed: ${reason}`, mood: "bad", outcome, details: decision.warnings };
  }
  const isMoved = MOVES.has(reason);
  const outcome = isMoved
    ? "An eviction would move it to another node."
    : "An eviction would be refused, and move nothing.";
  return {
    answer: `Refused (429): ${reason}`,
    mood: isMoved ? "good" : "warn",
    outcome,
    details: [...(known === undefined ? [] : [sentence(known)]), decision.message],
  };
}

/** What a person may ask for now: what the acts themselves would find possible. */
export function actsOn({ vmi, evacuations }: Pick<VmView, "vmi" | "evacuations">): readonly Act[] {
  if (vmi === undefined || isFinal(vmi)) return [];
  const isFailed = retryOf(vmi, evacuations) !== undefined;
  const isLeaving = evacuations.some(isActive) || isMarked(vmi);
  if (isLeaving) return isFailed ? ["retry", "cancel"] : ["cancel"];
  return isFailed ? ["retry"] : ["evacuate"];
}
