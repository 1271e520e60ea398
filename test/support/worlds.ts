/** Worlds for the planners: everything that a pass has observed, minimal plus one tweak. */
import type { Action } from "../../shared/kube/action.ts";
import { type BudgetWorld, planBudgets } from "../../shared/budget/budget.ts";
import { type HistoryWorld, planEvacuations } from "../../shared/evacuation/plan.ts";
import { type EvacuationFacts, type EvacuationStatus, isToBeReleased } from "../../shared/kube/evacuation.ts";
import type { EvacuationWorld } from "../../shared/evacuation/world.ts";
import { budget, marked, NOW, only, settings } from "./fixtures.ts";

/** The VMI, marked, with its budget, and nothing that says that it should move; VMIs are read after Evacuations. */
export function world(tweak: Partial<HistoryWorld> = {}): HistoryWorld {
  return {
    vmis: [marked()],
    evacuations: [],
    migrations: [],
    budgets: [budget()],
    pods: [],
    nodes: [],
    openNodeEvacuations: new Set(),
    vmisAreNewer: true,
    settings: settings(),
    now: NOW,
    ...tweak,
  };
}

export function budgetWorld(tweak: Partial<BudgetWorld> = {}): BudgetWorld {
  const plain = { settings: settings(), now: NOW, complete: true };
  return { vmis: [], evacuations: [], migrations: [], budgets: [], ...plain, ...tweak };
}

export function plannedBudgets(tweak: Partial<BudgetWorld>): readonly Action[] {
  return planBudgets(budgetWorld(tweak)).chains.flat();
}

export function planned(subject: EvacuationFacts, tweak: Partial<EvacuationWorld> = {}): readonly Action[] {
  return planEvacuations(world({ evacuations: [subject], ...tweak })).chains.flat();
}

/** What is written about this one, or what it says already. */
export function statusAfter(subject: EvacuationFacts, tweak: Partial<EvacuationWorld> = {}): EvacuationStatus {
  const writes = only("WriteStatus", planned(subject, tweak));
  return writes.find(({ evacuation }) => evacuation.uid === subject.uid)?.status ?? subject.status;
}

/** In order: the status as phase and reason, or that it is Released, `tell` for an Event, every other action by its verb. */
export function inShort(actions: readonly Action[]): string {
  const words = actions.map((action) => {
    if (action.verb === "WriteStatus" && isToBeReleased(action.evacuation)) return "Released";
    if (action.verb === "WriteStatus") return `${action.status.phase} ${action.status.reason}`;
    return action.verb === "Event" ? "tell" : action.verb;
  });
  return words.join(", ") || "-";
}

/** `inShort`, and of one that ends and has left something the next look, too, which takes that back. */
export function course(subject: EvacuationFacts, tweak: Partial<EvacuationWorld> = {}): string {
  const first = inShort(planned(subject, tweak));
  const status = statusAfter(subject, tweak);
  return isToBeReleased({ status }) ? `${first}; ${inShort(planned({ ...subject, status }, tweak))}` : first;
}
