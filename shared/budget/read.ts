/** Reading the budget of a VMI. */
import type { Client } from "../kube/client.ts";
import type { BudgetFacts, VmiFacts } from "../kube/facts.ts";
import { budgetName } from "./budget.ts";

/** A missing permission must not keep the VM from being evacuated: then there seems to be none. */
export async function readBudget(vmi: VmiFacts, cluster: Client): Promise<readonly BudgetFacts[]> {
  const key = { namespace: vmi.namespace, name: budgetName(vmi) };
  const budget = await cluster.get("poddisruptionbudgets", key, { expect: [403] });
  return budget === undefined ? [] : [budget];
}
