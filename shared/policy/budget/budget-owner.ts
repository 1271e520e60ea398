/**
 * Whose a disruption budget is, told by its owner references.
 * Owns: that. Does not own: which budgets there should be (budget.ts).
 */
import type { BudgetFacts, OwnerReference, VmiFacts } from "../facts.ts";

export function isVmi(owner: OwnerReference): boolean {
  return owner.kind === "VirtualMachineInstance";
}

/** An owner is of the same namespace: a UID alone may be claimed by a budget of any other. */
export function ownedBy(vmi: VmiFacts, budget: BudgetFacts): boolean {
  return budget.namespace === vmi.namespace && budget.owners.some((o) => isVmi(o) && o.uid === vmi.uid);
}
