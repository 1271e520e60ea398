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
    if ((await cluster.act(action, settings)) === "Done") return true;
    return action.verb === "GrowBudget" && action.required && (await makeGrown(action, cluster, settings));
  } catch (error) {
    if (!isOptional(action) || !(error instanceof ClusterError)) throw error;
    return false;
  }
}

type GrowBudget = Extract<Action, { verb: "GrowBudget" }>;

/**
 * Nobody has looked at the VM before: it gets its budget now. Where we may not make one (a permission, a quota), which whoever
 * looks next will say, it is marked all the same; where that merely did not work this time, it is not.
 */
async function makeGrown(action: GrowBudget, cluster: Cluster, settings: Settings): Promise<boolean> {
  const { vmi } = action;
  try {
    const missing = missingBudget(vmi, await cluster.listBudgets(vmi.namespace));
    if (missing === undefined) return true;
    // Grown in any case: whoever made it meanwhile has made it small.
    return (await actInOrder(missing, cluster, settings)) && (await cluster.act(action, settings)) === "Done";
  } catch (error) {
    if (!(error instanceof ClusterError) || !isLasting(error.failure)) throw error;
    return true;
  }
}
