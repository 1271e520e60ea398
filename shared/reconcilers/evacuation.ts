/**
 * The evacuation reconciler: marked VMIs leave their node.
 * Owns: plugging the policy into the pass. Does not own: the policy (shared/policy/evacuation.ts).
 */
import { type Failure, isLasting } from "../cluster/failure.ts";
import type { Action } from "../policy/action.ts";
import { planEvacuations, refusedMigration, uncountable } from "../policy/evacuation.ts";
import type { Reconciler } from "./reconciler.ts";
import type { World } from "./world.ts";

export const evacuation: Reconciler = {
  name: "evacuation",
  plan: planEvacuations,
  refused(action: Action, world: World): readonly Action[] {
    return action.verb === "CreateMigration" ? refusedMigration(action.slot, world) : [];
  },
  failed(action: Action, world: World, failure: Failure): readonly Action[] {
    if (!isLasting(failure)) return [];
    // By whatever stands in front of KubeVirt: a quota, a policy, a permission that is missing.
    if (action.verb === "CreateMigration") return refusedMigration(action.slot, world);
    return action.verb === "WriteCounters" ? uncountable(world) : [];
  },
};
