/**
 * Whose a disruption budget is, told by its owner references.
 * Owns: that. Does not own: which budgets there should be (budget.ts), whether one protects (budget-protection.ts).
 */
import type { BudgetFacts, OwnerReference, VmiFacts } from "./facts.ts";

export function isVmi(owner: OwnerReference): boolean {
  return owner.kind === "VirtualMachineInstance";
}

/** An owner is of the same namespace: a UID alone may be claimed by a budget of any other. */
export function ownedBy(vmi: VmiFacts, budget: BudgetFacts): boolean {
  return budget.namespace === vmi.namespace && budget.owners.some((o) => isVmi(o) && o.uid === vmi.uid);
}

/** KubeVirt's own budget for the VMI (1.5 and older): the VMI is its controller. Ours never has one. */
export function isKubeVirts(budget: BudgetFacts, vmi: VmiFacts): boolean {
  return ownedBy(vmi, budget) && budget.owners.some((o) => o.controller && isVmi(o) && o.uid === vmi.uid);
}
