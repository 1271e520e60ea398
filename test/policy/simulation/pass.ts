/**
 * Lifeboat's passes over a simulated cluster, in steps: between any two, other functions and the cluster go on.
 * Owns: reading in the order of the real pass, and performing chains. Does not own: the cluster (cluster.ts).
 */
import type { Action } from "../../../shared/policy/action.ts";
import { type BudgetWorld, planBudgets } from "../../../shared/policy/budget.ts";
import {
  candidatesOf,
  type EvacuationWorld,
  planEvacuations,
  refusedMigration,
} from "../../../shared/policy/evacuation.ts";
import type { SimulatedCluster } from "./cluster.ts";

export type World = EvacuationWorld & BudgetWorld;

/** Everything at one moment. */
export function look(cluster: SimulatedCluster): World {
  const { register, settings, now, activePods } = cluster;
  return {
    register,
    settings,
    now,
    activePods: new Map(activePods),
    budgets: [...cluster.budgets.values()],
    vmis: [...cluster.vmis.values()],
    migrations: [...cluster.migrations.values()],
    tainted: new Set(cluster.tainted),
    complete: true,
    launchers: [],
  };
}

/** One function that looks and acts once, and may be interrupted, or stall for ever, at every `yield`. */
export function* pass(cluster: SimulatedCluster): Generator<void, void, void> {
  const { register } = look(cluster);
  yield;
  const { budgets } = look(cluster);
  yield;
  const { vmis, tainted } = look(cluster);
  yield;
  const { migrations } = look(cluster);
  const read = { ...look(cluster), register, budgets, vmis, tainted, migrations };
  yield;
  const counted = candidatesOf(read).map((vmi) => [vmi.uid, cluster.activePods.get(vmi.uid) ?? 0] as const);
  const world = { ...read, activePods: new Map(counted) };
  yield;
  for (const plan of [planBudgets(world), planEvacuations(world)]) {
    for (const chain of plan.chains) yield* perform(chain, world, cluster);
  }
}

function* perform(chain: readonly Action[], world: World, cluster: SimulatedCluster): Generator<void, void, void> {
  for (const action of chain) {
    const result = cluster.act(action);
    yield;
    if (result === "Refused" && action.verb === "CreateMigration") {
      yield* perform(refusedMigration(action.slot, world), world, cluster);
    }
    if (result !== "Done") return;
  }
}

/** A whole pass, undisturbed. */
export function passAtOnce(cluster: SimulatedCluster): void {
  const steps = pass(cluster);
  while (steps.next().done !== true);
}
