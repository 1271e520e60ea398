/**
 * Performing what a decision asks for, where a caller waits for the outcome.
 * Owns: the order, and what ends it. Does not own: looking again after a conflict (its callers).
 */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError, isLasting } from "../cluster/failure.ts";
import { type Action, isOptional } from "../policy/action.ts";
import type { EvacuationFacts } from "../policy/facts.ts";
import type { Settings } from "../policy/settings.ts";

export interface Acted {
  /** Whether everything was done. */
  readonly done: boolean;
  /** The Evacuation that was created or joined. */
  readonly created?: EvacuationFacts;
}

/** In order, up to the first conflict; an Evacuation depends on nothing else and is written at the same time. */
export async function actInOrder(actions: readonly Action[], cluster: Cluster, settings: Settings): Promise<Acted> {
  const creation = actions.find((action) => action.verb === "CreateEvacuation");
  const others = actions.filter((action) => action !== creation);
  const [created, done] = await Promise.all([
    creation && cluster.createEvacuation(creation.evacuation),
    othersInOrder(others, cluster, settings),
  ]);
  if (created === undefined) return { done };
  return created === "Conflict" ? { done: false } : { done, created };
}

async function othersInOrder(actions: readonly Action[], cluster: Cluster, settings: Settings): Promise<boolean> {
  for (const action of actions) {
    if (!(await isDone(action, cluster, settings)) && !isOptional(action)) return false;
  }
  return true;
}

async function isDone(action: Action, cluster: Cluster, settings: Settings): Promise<boolean> {
  try {
    const result = await cluster.act(action, settings);
    if (result === "Done" || !needsBudget(action)) return result === "Done";
    return await unlessForbidden(() => makeBudget(action, cluster, settings));
  } catch (error) {
    if (!isOptional(action) || !(error instanceof ClusterError)) throw error;
    return false;
  }
}

type OnBudget = Extract<Action, { verb: "EnsureBudget" | "GrowBudget" }>;

/** A VM that no scan has looked at yet gets its budget now. */
function needsBudget(action: Action): action is OnBudget {
  return action.verb === "EnsureBudget" || (action.verb === "GrowBudget" && action.required);
}

async function makeBudget(action: OnBudget, cluster: Cluster, settings: Settings): Promise<boolean> {
  const { vmi, name } = action;
  const minAvailable = action.verb === "GrowBudget" ? 2 : action.minAvailable;
  await cluster.act({ verb: "CreateBudget", vmi, name, minAvailable }, settings);
  // Another function may have made it meanwhile, and made it small.
  return action.verb === "EnsureBudget" || (await cluster.act(action, settings)) === "Done";
}

/**
 * Where Lifeboat may not make a budget (a permission, a quota), which the next scan reports, the answer is given all the
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
