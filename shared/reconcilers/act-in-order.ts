/**
 * Performing what a decision asks for, where somebody waits for the outcome.
 * Owns: the order, and what ends it. Does not own: looking again after a conflict (its callers).
 */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError, isLasting } from "../cluster/failure.ts";
import { type Action, isOptional } from "../policy/action.ts";
import { missingBudget } from "../policy/budget.ts";
import type { Settings } from "../policy/settings.ts";

/** Whether everything was done; ends at the first conflict. */
export async function actInOrder(actions: readonly Action[], cluster: Cluster, settings: Settings): Promise<boolean> {
  for (const action of actions) {
    if (!(await isDone(action, cluster, settings)) && !isOptional(action)) return false;
  }
  return true;
}

async function isDone(action: Action, cluster: Cluster, settings: Settings): Promise<boolean> {
  try {
    if (action.verb === "EnsureBudget") {
      return await unlessForbidden(() => ensureBudget(action, cluster, settings));
    }
    if (action.verb === "GrowBudget") return await growBudget(action, cluster, settings);
    return (await cluster.act(action, settings)) === "Done";
  } catch (error) {
    if (!isOptional(action) || !(error instanceof ClusterError)) throw error;
    return false;
  }
}

type EnsureBudget = Extract<Action, { verb: "EnsureBudget" }>;
type GrowBudget = Extract<Action, { verb: "GrowBudget" }>;

async function ensureBudget(action: EnsureBudget, cluster: Cluster, settings: Settings): Promise<boolean> {
  if ((await cluster.act(action, settings)) === "Done") return true;
  const missing = missingBudget(action.vmi, await cluster.listBudgets(action.vmi.namespace), action.minAvailable);
  return missing === undefined || (await actInOrder(missing, cluster, settings));
}

/** A VM that no pass has looked at yet gets its budget now. */
async function growBudget(action: GrowBudget, cluster: Cluster, settings: Settings): Promise<boolean> {
  if ((await cluster.act(action, settings)) === "Done") return true;
  if (!action.required) return false;
  return await unlessForbidden(async () => {
    const missing = missingBudget(action.vmi, await cluster.listBudgets(action.vmi.namespace), 2);
    if (missing === undefined) return true;
    // Grown in any case: another function may have made it meanwhile, and made it small.
    return (await actInOrder(missing, cluster, settings)) && (await cluster.act(action, settings)) === "Done";
  });
}

/**
 * Where Lifeboat may not make a budget (a permission, a quota), which the next pass reports, the answer is given all the
 * same; where that merely did not work this time, it is not.
 */
async function unlessForbidden(make: () => Promise<boolean>): Promise<boolean> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof ClusterError) || !isLasting(error.failure)) throw error;
    return true;
  }
}
