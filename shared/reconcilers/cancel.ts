/**
 * Cancelling an evacuation for an operator: observe, decide, act.
 * Owns: what is read for it. Does not own: the decision (shared/policy/giving-up.ts), HTTP.
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { Action } from "../policy/action.ts";
import type { NamespacedName } from "../policy/facts.ts";
import { isTooLate } from "../policy/fresh.ts";
import { type CancelDecision, decideCancel } from "../policy/giving-up.ts";
import type { Settings } from "../policy/settings.ts";
import { actInOrder } from "./act-in-order.ts";
import { carries } from "./around.ts";

const LOOKS = 3;

export type Cancelled =
  | Exclude<CancelDecision, { verdict: "Cancel" }>
  | { readonly verdict: "Cancelled"; readonly actions: readonly Action[] }
  | { readonly verdict: "Conflict" };

export interface CancelDeps {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly clock: () => Date;
}

export async function cancelEvacuation(key: NamespacedName, deps: CancelDeps): Promise<Cancelled> {
  const done: Action[] = [];
  for (let look = 0; look < LOOKS; look++) {
    const now = deps.clock();
    const decision = await decide(key, deps, now);
    const isOver = decision.verdict !== "Cancel";
    // What an earlier look has done is a cancel, though there is nothing left to do.
    if (isOver && done.length === 0) return decision;
    if (isOver || (await actWhileFresh(decision.actions, now, deps, done)))
      return { verdict: "Cancelled", actions: done };
  }
  return { verdict: "Conflict" };
}

/** Whether everything was done; what was is added to `done`. */
async function actWhileFresh(
  actions: readonly Action[],
  seen: Date,
  { cluster, settings, clock }: CancelDeps,
  done: Action[],
): Promise<boolean> {
  for (const action of actions) {
    if (isTooLate(action, seen, clock()) || !(await actInOrder([action], cluster, settings))) return false;
    done.push(action);
  }
  return true;
}

async function decide(key: NamespacedName, { cluster, settings }: CancelDeps, now: Date): Promise<CancelDecision> {
  const vmi = await cluster.getVmi(key);
  if (vmi === undefined) return { verdict: "NotEvacuating" };
  const [migrations, node] = await Promise.all([
    cluster.listMigrations(key),
    vmi.nodeName === undefined ? undefined : cluster.getNode(vmi.nodeName),
  ]);
  const tainted = node !== undefined && carries(node.taints, settings);
  return decideCancel({ vmi, migrations, tainted }, { settings, now });
}
