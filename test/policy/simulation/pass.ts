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
  uncountable,
} from "../../../shared/policy/evacuation.ts";
import { countEndings } from "../../../shared/policy/counters.ts";
import type { SimulatedCluster } from "./cluster.ts";

export type World = EvacuationWorld & BudgetWorld;

/** Everything at one moment. */
export function look(cluster: SimulatedCluster): World {
  const { register, settings, now, activePods } = cluster;
  return {
    register,
    counters: cluster.countersAre === "forbidden" ? "Off" : cluster.counters,
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

export interface PassOptions {
  /** How many ids of counted evacuations are kept that no VMI tells of any more. */
  readonly remembered?: number;
  /** The counters cannot be read just now. */
  readonly unseen?: boolean;
}

/** One function that looks and acts once, and may be interrupted, or stall for ever, at every `yield`. */
export function* pass(cluster: SimulatedCluster, options: PassOptions = {}): Generator<void, void, void> {
  const { register, counters: found } = look(cluster);
  const counters = options.unseen === true ? "Unseen" : found;
  yield;
  const { budgets } = look(cluster);
  yield;
  const { vmis, tainted } = look(cluster);
  yield;
  const { migrations } = look(cluster);
  const read = { ...look(cluster), register, counters, budgets, vmis, tainted, migrations };
  yield;
  const counted = candidatesOf(read).map((vmi) => [vmi.uid, cluster.activePods.get(vmi.uid) ?? 0] as const);
  const world = { ...read, activePods: new Map(counted) };
  yield;
  for (const plan of [planBudgets(world), planEvacuations(world)]) {
    for (const chain of plan.chains) yield* perform(chain.map(forgetting(world, options)), world, cluster);
  }
}

/** As planned, but with another memory of what was counted. */
function forgetting({ vmis, counters }: World, { remembered }: PassOptions): (action: Action) => Action {
  return (action) => {
    if (action.verb !== "WriteCounters" || remembered === undefined) return action;
    return countEndings(vmis, counters, remembered)[0] ?? action;
  };
}

function* perform(chain: readonly Action[], world: World, cluster: SimulatedCluster): Generator<void, void, void> {
  for (const action of chain) {
    const result = cluster.act(action);
    yield;
    if (result === "Refused") yield* perform(instead(action, world), world, cluster);
    if (result !== "Done") return;
  }
}

function instead(action: Action, world: World): readonly Action[] {
  if (action.verb === "CreateMigration") return refusedMigration(action.slot, world);
  return action.verb === "WriteCounters" ? uncountable(world) : [];
}

/** A whole pass, undisturbed. */
export function passAtOnce(cluster: SimulatedCluster): void {
  const steps = pass(cluster);
  while (steps.next().done !== true);
}
