/** Reconciles the nodes with NoExecute taints in each tick. */
import { guard } from "../guard/feature.ts";
import { attempt, carryOut, type Deps, NOTHING, type Result, sum, type World } from "./carry-out.ts";
import { areTaintsConcern, observeTaintedNodes, withHold } from "./observe-taints.ts";

type Requeue = (before: World, started: Result, deps: Deps) => Promise<Result>;

/** Also what was there before a gate was switched. Where nodes and pods are watched, nothing is read unless the watches show something to do. */
export async function reconcileTaints(deps: Deps, requeue: Requeue): Promise<Result> {
  const { cluster, clock, onFailure, cached } = deps;
  const { found, result } = await attempt("reconciling tainted nodes", deps, async () => {
    const settings = await withHold(deps.settings, cluster);
    if (!areTaintsConcern(settings)) return NOTHING;
    const observe = (from: Deps["cluster"]) =>
      observeTaintedNodes({ cluster: from, settings, now: clock(), onFailure });
    if (cached !== undefined && !isAnythingToDo(await observe(cached(cluster)))) return NOTHING;
    const world = await observe(cluster);
    const started = await carryOut([guard], world, deps);
    return sum([started, await requeue(world, started, deps)]);
  });
  return sum([found ?? NOTHING, result]);
}

function isAnythingToDo(world: World): boolean {
  return guard.plan(world).chains.length > 0;
}
