/**
 * The name of a VMI's disruption budget: the same for every function that makes, grows or shrinks it.
 * Owns: that. Does not own: which VMI has one (budget.ts).
 */
import type { VmiFacts } from "../facts.ts";
import { hash8 } from "../kube/hash.ts";
import { NAME_PREFIX } from "../names.ts";
import { derivedName } from "../kube/naming.ts";

export function budgetName(vmi: Pick<VmiFacts, "name" | "uid">): string {
  return derivedName(NAME_PREFIX, vmi.name, hash8(vmi.uid));
}
