/** Which VMI a disruption budget belongs to, and what its name is. */
import type { BudgetFacts, OwnerReference, VmiFacts } from "../kube/facts.ts";
import { derivedName, hash8, NAME_PREFIX } from "../kube/names.ts";

/** The same for every function that makes, grows or shrinks it. */
export function budgetName(vmi: Pick<VmiFacts, "name" | "uid">): string {
  return derivedName(NAME_PREFIX, vmi.name, hash8(vmi.uid));
}

export function isVmi(owner: OwnerReference): boolean {
  return owner.kind === "VirtualMachineInstance";
}

/** An owner is of the same namespace: a budget of any other may claim the UID. */
export function ownedBy(vmi: VmiFacts, budget: BudgetFacts): boolean {
  return budget.namespace === vmi.namespace && budget.owners.some((o) => isVmi(o) && o.uid === vmi.uid);
}
