/**
 * What a budget says of the mark that it was grown for, so that whoever has not seen that mark does not make it small again.
 * Owns: the label's value, and how long it speaks. Does not own: sizes (budget.ts).
 */
import type { BudgetFacts, VmiFacts } from "./facts.ts";
import type { EvacuationRecord } from "./record.ts";

/** `<evacuation id>.<seconds since the epoch>`, a valid label value. */
export function grownForLabel({ id }: Pick<EvacuationRecord, "id">, now: Date): string {
  return `${id}.${Math.floor(now.getTime() / 1000)}`;
}

/** A mark follows within the API server's patience, 30 s at most. Two clocks may be two minutes apart. */
const MARKED_WITHIN_SECONDS = 150;

/** Whether the VMI may have been marked, or be about to be, since it was read. */
export function isMarkOnItsWay({ grownFor }: Pick<BudgetFacts, "grownFor">, { record }: VmiFacts, now: Date): boolean {
  const [, id, seconds] = /^([0-9a-f]+)\.(\d{1,12})$/.exec(grownFor ?? "") ?? [];
  if (id === undefined || id === record?.id) return false;
  return Math.abs(now.getTime() / 1000 - Number(seconds)) < MARKED_WITHIN_SECONDS;
}
