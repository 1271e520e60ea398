/**
 * What a budget says of the mark that it was grown for, so that whoever has not seen that mark does not make it small again.
 * Owns: the label's value, and how long it speaks. Does not own: sizes (budget.ts).
 *
 * A mark is only set on a VMI that is still as it was seen when the budget was grown: its node, its mark, its record. So while
 * it is, the mark may be on its way; anything else says that it was set, or will not be.
 */
import type { BudgetFacts, VmiFacts } from "./facts.ts";
import { hash8 } from "./hash.ts";

type Seen = Pick<VmiFacts, "nodeName" | "evacuationNodeName" | "recordText">;

/** `<hash of what is seen>.<seconds since the epoch>`, a valid label value. */
export function grownForLabel(vmi: Seen, now: Date): string {
  return `${hashOf(vmi)}.${Math.floor(now.getTime() / 1000)}`;
}

/** A mark follows within the API server's patience, 30 s at most. Two clocks may be two minutes apart. */
const MARKED_WITHIN_SECONDS = 150;

/** Whether the VMI may have been marked, or be about to be, since it was read. */
export function isMarkOnItsWay({ grownFor }: Pick<BudgetFacts, "grownFor">, vmi: Seen, now: Date): boolean {
  const [, hash, seconds] = /^([0-9a-f]+)\.(\d{1,12})$/.exec(grownFor ?? "") ?? [];
  if (hash !== hashOf(vmi)) return false;
  return Math.abs(now.getTime() / 1000 - Number(seconds)) < MARKED_WITHIN_SECONDS;
}

function hashOf({ nodeName = "", evacuationNodeName = "", recordText = "" }: Seen): string {
  return hash8([nodeName, evacuationNodeName, recordText].join("\n"));
}
