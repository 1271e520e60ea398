/**
 * Marking a VMI for evacuation, whatever the reason.
 * Owns: what is done, and in which order. Does not own: whether to mark, the record.
 */
import type { Action } from "./action.ts";
import { budgetName } from "./budget.ts";
import { ASKS_TO_EVICT, URGENCY } from "./cause.ts";
import type { VmiFacts } from "./facts.ts";
import { grownForLabel } from "./grown-for.ts";
import type { EvacuationRecord } from "./record.ts";
import type { Settings } from "./settings.ts";

/**
 * The budget first: KubeVirt, or the VMI's owner, may migrate it as soon as it is marked, and with a budget of 1 a ready
 * target makes the source evictable, should nobody answer for us just then. Whoever deletes or kills asks no budget: there
 * the mark does not wait for one that cannot be grown.
 */
export function markActions(
  vmi: VmiFacts,
  record: EvacuationRecord,
  { settings: { reconcilers }, now }: { readonly settings: Settings; readonly now: Date },
): readonly Action[] {
  const mark: Action = { verb: "Mark", vmi, record, urgency: URGENCY[record.cause] };
  if (!reconcilers.budget || !vmi.liveMigratable.migratable) return [mark];
  const grownFor = grownForLabel(vmi, now);
  return [{ verb: "GrowBudget", vmi, name: budgetName(vmi), grownFor, required: ASKS_TO_EVICT[record.cause] }, mark];
}
