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
  const world = yield* observe(cluster, options);
  if (world === FAILED) return;
  for (const plan of [planDisruptions, planBudgets, planAnnotations, planEvacuations]) {
    const chains = plan(world).chains.map((chain) => chain.map(forgetting(world, options)));
    const performed = chains.map((chain) => perform(chain, world, cluster));
    yield* together(performed, CONCURRENT_CHAINS, turnsOf(options.turns ?? 0));
  }
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
export function passAtOnce(cluster: SimulatedCluster, options: PassOptions = {}): void {
  const steps = pass(cluster, options);
  while (steps.next().done !== true);
}
