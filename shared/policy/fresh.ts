/**
 * Which actions need facts that are fresh, and when facts are not fresh any more.
 * Owns: that table, and the age. Does not own: what becomes of a chain that is too late (shared/reconcilers).
 */
import type { Action } from "./action.ts";

/**
 * An evacuation that has been given up since must not start: all that is done conditionally fails then, but nothing says so to
 * a migration. Its slot and its budget are kept for longer than this (mayStillMigrate in budget.ts), which counts from when it
 * was given up: that must not be long ago when it is written. And what was pending may be under way, or over, since.
 */
const FRESH_SECONDS = 5;

// prettier-ignore
export const NEEDS_FRESH_FACTS = {
  Mark:            false,
  Record:          false,
  Unmark:          true,
  Forget:          false,
  CreateMigration: true,
  AdoptMigration:  false,
  DeleteMigration: true,
  CreateBudget:    false,
  EnsureBudget:    false,
  GrowBudget:      false,
  ResizeBudget:    false,
  DeleteBudget:    false,
  DeletePod:       false,
  AnnotatePod:     false,
  WriteRegister:   false,
  WriteSlots:      false,
  WriteCounters:   false,
  Event:           false,
} as const satisfies Record<Action["verb"], boolean>;

/** Whether the action must not be done now, by what has been seen since: both times by the same clock. */
export function isTooLate({ verb }: Pick<Action, "verb">, sinceSeen: Date, now: Date): boolean {
  return NEEDS_FRESH_FACTS[verb] && now.getTime() - sinceSeen.getTime() >= FRESH_SECONDS * 1000;
}
