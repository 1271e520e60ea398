/** Reads the PodDisruptionBudget of a VMI. */
import type { Client } from "../kube/client.ts";
import type { BudgetFacts, VmiFacts } from "../kube/facts.ts";
import { budgetName } from "./budget.ts";

/**
 * Reads the VMI's budget. Returns an empty list if Lifeboat lacks the permission to read budgets, because a missing
 * permission must not stop an evacuation.
 */
export async function readBudget(vmi: VmiFacts, cluster: Client): Promise<readonly BudgetFacts[]> {
  const key = { namespace: vmi.namespace, name: budgetName(vmi) };
  const budget = await cluster.get("poddisruptionbudgets", key, { expect: [403] });
  return budget === undefined ? [] : [budget];
}
