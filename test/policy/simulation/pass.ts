/**
 * Lifeboat's passes over a simulated cluster, in steps: between any two, other functions and the cluster go on.
 * Owns: planning in the order of the real pass, and performing chains as it does (shared/reconcilers/pass.ts). Does not own:
 * observing (observe.ts), the cluster (cluster.ts), what can go wrong with a request (requests.ts).
 */
import type { Action } from "../../../shared/policy/action.ts";
import { planBudgets } from "../../../shared/policy/budget.ts";
import { planAnnotations } from "../../../shared/policy/descheduler-annotations.ts";
import { planDisruptions } from "../../../shared/policy/disruption.ts";
import { planEvacuations, refusedMigration, uncountable } from "../../../shared/policy/evacuation.ts";
import { planPressure } from "../../../shared/policy/pressure.ts";
import { countEndings } from "../../../shared/policy/counters.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { observe, type Observing, type World } from "./observe.ts";
import { act, FAILED, type Steps } from "./requests.ts";
import { together, turnsOf } from "./together.ts";

export interface PassOptions extends Observing {
  /** How many ids of counted evacuations are kept that no VMI tells of any more. */
  readonly remembered?: number;
}

const CONCURRENT_CHAINS = 4;

/** One function that looks and acts once, and may be interrupted, or stall for ever, at every `yield`. */
export function* pass(cluster: SimulatedCluster, options: PassOptions = {}): Steps<void> {
  const since = cluster.now;
  const world = yield* observe(cluster, options);
  if (world === FAILED) return;
  for (const plan of [planDisruptions, planPressure, planBudgets, planAnnotations, planEvacuations]) {
    const chains = plan(world).chains.map((chain) => chain.map(forgetting(world, options)));
    const performed = chains.map((chain) => perform(chain, { world, since }, cluster));
    yield* holding(cluster, chains, together(performed, CONCURRENT_CHAINS, turnsOf(options.turns ?? 0)));
  }
}

/** Until this function has ended, it may create what it has decided to. */
function* holding(cluster: SimulatedCluster, chains: readonly (readonly Action[])[], steps: Steps<void>): Steps<void> {
  const held = chains.flat().flatMap((action) => (action.verb === "CreateMigration" ? [action.slot] : []));
  for (const slot of held) cluster.held.add(slot);
  try {
    yield* steps;
  } finally {
    for (const slot of held) cluster.held.delete(slot);
  }
}

/** As planned, but with another memory of what was counted. */
function forgetting({ vmis, counters }: World, { remembered }: PassOptions): (action: Action) => Action {
  return (action) => {
    if (action.verb !== "WriteCounters" || remembered === undefined) return action;
    return countEndings(vmis, counters, remembered)[0] ?? action;
  };
}

/** What is acted on, and since when it was observed. */
interface Basis {
  readonly world: World;
  readonly since: Date;
}

function* perform(chain: readonly Action[], basis: Basis, cluster: SimulatedCluster): Steps<void> {
  for (const action of chain) {
    const result = yield* act(cluster, action, basis.since);
    if (result === "Refused") yield* perform(instead(action, basis.world), basis, cluster);
    // A story untold changes nothing.
    if (result !== "Done" && action.verb !== "Event") return;
  }
}

function instead(action: Action, world: World): readonly Action[] {
  if (action.verb === "CreateMigration") return refusedMigration(action.slot, world);
  return action.verb === "WriteCounters" ? uncountable(world) : [];
}

/** A whole pass, undisturbed. */
export function passAtOnce(cluster: SimulatedCluster, options: PassOptions = {}): void {
  const steps = pass(cluster, options);
  while (steps.next().done !== true);
}
