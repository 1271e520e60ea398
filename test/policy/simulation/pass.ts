/**
 * Lifeboat's passes over a simulated cluster, in steps: between any two, other functions and the cluster go on.
 * Owns: reading in the order of the real pass, and performing chains. Does not own: the cluster (cluster.ts), what can go
 * wrong with a request (requests.ts).
 */
import type { Action } from "../../../shared/policy/action.ts";
import { type BudgetWorld, planBudgets } from "../../../shared/policy/budget.ts";
import { type AnnotationWorld, planAnnotations } from "../../../shared/policy/descheduler-annotations.ts";
import { type DisruptionWorld, planDisruptions } from "../../../shared/policy/disruption.ts";
import {
  candidatesOf,
  type EvacuationWorld,
  planEvacuations,
  refusedMigration,
  uncountable,
} from "../../../shared/policy/evacuation.ts";
import { countEndings } from "../../../shared/policy/counters.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { nodesOf } from "./control-plane.ts";
import { act, FAILED, read, type Steps } from "./requests.ts";

export type World = EvacuationWorld & BudgetWorld & DisruptionWorld & AnnotationWorld;

/** Everything at one moment. */
export function look(cluster: SimulatedCluster): World {
  const { register, settings, now } = cluster;
  return {
    register,
    counters: cluster.countersAre === "forbidden" ? "Off" : cluster.counters,
    settings,
    now,
    activePods: cluster.pods.active(),
    budgets: [...cluster.budgets.values()],
    vmis: [...cluster.vmis.values()],
    migrations: [...cluster.migrations.values()],
    tainted: new Set(cluster.tainted),
    complete: true,
    launchers: cluster.pods.launchers(),
    pods: cluster.pods.all(),
    nodes: nodesOf(cluster),
  };
}

export interface PassOptions {
  /** How many ids of counted evacuations are kept that no VMI tells of any more. */
  readonly remembered?: number;
  /** The counters cannot be read just now. */
  readonly unseen?: boolean;
  /** By how much the clock of the function that passes is fast. */
  readonly skewMs?: number;
}

/** One function that looks and acts once, and may be interrupted, or stall for ever, at every `yield`. */
export function* pass(cluster: SimulatedCluster, options: PassOptions = {}): Steps<void> {
  const world = yield* observe(cluster, options);
  if (world === FAILED) return;
  for (const plan of [planDisruptions, planBudgets, planAnnotations, planEvacuations]) {
    for (const chain of plan(world).chains) yield* perform(chain.map(forgetting(world, options)), world, cluster);
  }
}

function* observe(cluster: SimulatedCluster, { unseen, skewMs = 0 }: PassOptions): Steps<World | typeof FAILED> {
  const now = new Date(cluster.now.getTime() + skewMs);
  const registers = yield* read(cluster, look);
  const budgets = yield* read(cluster, (c) => look(c).budgets);
  const located = yield* read(cluster, look);
  const migrations = yield* read(cluster, (c) => look(c).migrations);
  if (registers === FAILED || budgets === FAILED || located === FAILED || migrations === FAILED) return FAILED;
  const { register } = registers;
  const counters = unseen === true ? "Unseen" : registers.counters;
  const { vmis, tainted } = located;
  const seen = { ...located, now, register, counters, budgets, vmis, tainted, migrations };
  const last = yield* read(cluster, look);
  if (last === FAILED) return FAILED;
  const { pods, nodes, launchers } = last;
  const counted = candidatesOf(seen).map((vmi) => [vmi.uid, last.activePods.get(vmi.uid) ?? 0] as const);
  return { ...seen, pods, nodes, launchers, activePods: new Map(counted) };
}

/** As planned, but with another memory of what was counted. */
function forgetting({ vmis, counters }: World, { remembered }: PassOptions): (action: Action) => Action {
  return (action) => {
    if (action.verb !== "WriteCounters" || remembered === undefined) return action;
    return countEndings(vmis, counters, remembered)[0] ?? action;
  };
}

function* perform(chain: readonly Action[], world: World, cluster: SimulatedCluster): Steps<void> {
  for (const action of chain) {
    const result = yield* act(cluster, action);
    if (result === "Refused") yield* perform(instead(action, world), world, cluster);
    // A story untold changes nothing.
    if (result !== "Done" && action.verb !== "Event") return;
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
