/**
 * Marking a VMI for evacuation, whatever the reason.
 * Owns: what is done, and in which order. Does not own: whether to mark.
 */
import type { Action } from "../action.ts";
import { areBudgetsWanted } from "../budget/budget-mode.ts";
import { budgetName } from "../budget/identity.ts";
import { ASKS_TO_EVICT, type Cause, URGENCY } from "../cause.ts";
import type { VmiFacts } from "../facts.ts";
import type { Settings } from "../settings.ts";

/**
 * The budget grows first: KubeVirt, or the VM's owner, may migrate the VM as soon as it is marked, and with a budget of 1 a
 * ready target makes the source evictable. The scheduler, the taint manager and a kubelet ask no budget: for them the mark
 * does not wait for one that cannot grow.
 */
export function markActions(vmi: VmiFacts, cause: Cause, settings: Settings): readonly Action[] {
  const mark: Action = { verb: "Mark", vmi, urgency: URGENCY[cause] };
  if (!areBudgetsWanted(settings) || !vmi.liveMigratable.migratable) return [mark];
  return [{ verb: "GrowBudget", vmi, name: budgetName(vmi), required: ASKS_TO_EVICT[cause] }, mark];
}
