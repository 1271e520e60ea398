/** What a tick finds of NoExecute taints. */
import { isGateOn } from "../settings/guarded.ts";
import { attempt, carryOut, type Deps, NOTHING, type Result, sum, type World } from "./carry-out.ts";
import { observeTaintedNodes } from "./observe-nodes.ts";

type Requeue = (before: World, started: Result, deps: Deps) => Promise<Result>;

/** Events show what a NoExecute taint drives away, where they are watched; the full scan finds the rest. */
export async function reconcileTaints(deps: Deps, requeue: Requeue): Promise<Result> {
  if (deps.cached !== undefined || !isGateOn("NoExecuteTaint", deps.settings)) return NOTHING;
  const { cluster, settings, clock, onFailure } = deps;
  const { found, result } = await attempt("reconciling tainted nodes", deps, async () => {
    const world = await observeTaintedNodes({ cluster, settings, now: clock(), onFailure });
    const started = await carryOut(["disruption"], world, deps);
    return sum([started, await requeue(world, started, deps)]);
  });
  return sum([found ?? NOTHING, result]);
}
