/**
 * The shape of a reconciler: one concern, one pure plan for an observed world.
 * Owns: the shape. Does not own: the pass that runs them (pass.ts).
 */
import type { Failure } from "../cluster/failure.ts";
import type { Action } from "../policy/action.ts";
import type { Plan } from "../policy/plan.ts";
import type { World } from "./world.ts";

export interface Reconciler {
  readonly name: string;
  /** Pure: what to do in this world. */
  plan(world: World): Plan;
  /** Pure: what to do after an action that KubeVirt's admission will never let through. */
  refused?(action: Action, world: World): readonly Action[];
  /** Pure: what to do although an action could not be done. */
  failed?(action: Action, world: World, failure: Failure): readonly Action[];
}
