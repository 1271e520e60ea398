/**
 * Performing what a decision asks for, where somebody waits for the outcome.
 * Owns: the order, and what ends it. Does not own: looking again after a conflict (its callers).
 */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError } from "../cluster/failure.ts";
import type { Action } from "../policy/action.ts";
import type { Settings } from "../policy/settings.ts";

/** Whether everything was done; ends at the first conflict. */
export async function actInOrder(actions: readonly Action[], cluster: Cluster, settings: Settings): Promise<boolean> {
  for (const action of actions) {
    try {
      if ((await cluster.act(action, settings)) !== "Done") return false;
    } catch (error) {
      // A story untold does not undo what was done, and must not look as if there had been nothing.
      if (action.verb !== "Event" || !(error instanceof ClusterError)) throw error;
    }
  }
  return true;
}
