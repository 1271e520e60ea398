/**
 * What follows an answer, once: Lifeboat records Events and reconciles the VM that was asked about.
 *
 * A drain repeats its requests every five seconds, so it drives itself; the relay and the tick do the rest.
 */
import type { Action } from "../shared/policy/action.ts";
import type { NamespacedName } from "../shared/policy/facts.ts";
import type { Known } from "../shared/pass/observe-vmi.ts";
import { perform } from "../shared/pass/perform.ts";
import { reconcileVmi } from "../shared/pass/reconcile.ts";
import { reconciling } from "./reconciling.ts";
import type { Target } from "./target.ts";

/** The platform ends what runs after an answer at 30 s. */
const SECONDS = 20;

/** One reconcile of the VMI. Never throws: what fails is logged, and the next look finds it. */
export async function carryOn(target: Target, vmi: NamespacedName, known: Known = {}): Promise<void> {
  const held = target.state.budget.open(target.platform.now());
  try {
    await reconciling(target, SECONDS, (deps) => reconcileVmi(vmi, deps, known), { held });
  } catch (error) {
    target.logFailure("carrying an evacuation on", error);
  } finally {
    held.end();
  }
}

/** Creates Events. Never throws: what fails is logged. */
export async function recordEvents(target: Target, events: readonly Action[]): Promise<void> {
  const onFailure = (doing: string, failure: Error) => target.logFailure(doing, failure);
  await perform(events, { cluster: target.connect(SECONDS), onFailure });
}
