/**
 * What a budget says of the mark that it was grown for, so that whoever has not seen that mark does not make it small again.
 * Owns: the label's value, and how long it speaks. Does not own: sizes (budget.ts).
 *
 * A mark is only set on a VMI whose record is still the one that was seen when the budget was grown. So while that stands
 * there, the mark may be on its way; any other record says that it was set, or will not be.
 */
import type { BudgetFacts, VmiFacts } from "./facts.ts";
import { hash8 } from "./hash.ts";

type Recorded = Pick<VmiFacts, "recordText">;

/** `<hash of the record as it stands>.<seconds since the epoch>`, a valid label value. */
export function grownForLabel(vmi: Recorded, now: Date): string {
  return `${hashOf(vmi)}.${Math.floor(now.getTime() / 1000)}`;
}

/** A mark follows within the API server's patience, 30 s at most. Two clocks may be two minutes apart. */
const MARKED_WITHIN_SECONDS = 150;

/** Whether the VMI may have been marked, or be about to be, since it was read. */
export function isMarkOnItsWay({ grownFor }: Pick<BudgetFacts, "grownFor">, vmi: Recorded, now: Date): boolean {
  const [, hash, seconds] = /^([0-9a-f]+)\.(\d{1,12})$/.exec(grownFor ?? "") ?? [];
  if (hash !== hashOf(vmi)) return false;
  return Math.abs(now.getTime() / 1000 - Number(seconds)) < MARKED_WITHIN_SECONDS;
}

function hashOf({ recordText = "" }: Recorded): string {
  return hash8(recordText);
}
