/** A reconcile within a time limit, with its failures in one line of the log; and what follows an answer. */
import type { Held } from "../shared/kube/budget.ts";
import type { ClusterError, Failure } from "../shared/kube/failures.ts";
import type { Action } from "../shared/kube/action.ts";
import type { NamespacedName } from "../shared/kube/facts.ts";
import type { Deps, Result } from "../shared/reconcile/carry-out.ts";
import type { Known } from "../shared/reconcile/observe-vmi.ts";
import { perform } from "../shared/evacuation/perform.ts";
import { reconcileVmi } from "../shared/reconcile/reconcile.ts";
import type { Target } from "./target.ts";

/** A few objects: what takes longer does not answer. */
export const SETTINGS_SECONDS = 5;
/** Of the time for a reconcile, the part in which something is begun: what was begun comes to its end in the rest. */
const BEGINNING = 0.8;

/**
 * Reconciles with requests that all end after so many seconds; what failed, and what time did not suffice for, is one line of the
 * log. Throws a ClusterError where nothing could be read at all. `fresh`: by settings that are read now. `held`: room for what is read.
 */
export async function reconciling(
  target: Target,
  seconds: number,
  reconcile: (deps: Deps) => Promise<Result>,
  { fresh = false, held }: { readonly fresh?: boolean; readonly held?: Held } = {},
): Promise<Result> {
  const { now } = target.platform;
  const limit = target.within(seconds);
  const cluster = target.connect(limit, held);
  const began = now().getTime();
  const connect = (most: number) => target.connect(Math.min(most, limit - (now().getTime() - began) / 1000), held);
  const until = new Date(began + limit * BEGINNING * 1000);
  const { settings } = await target.settings(target.connect(SETTINGS_SECONDS), fresh);
  const failures = new Failures();
  let left = 0;
  try {
    const result = await reconcile({ cluster, connect, settings, clock: now, until, onFailure: failures.add });
    left = result.left;
    return result;
  } finally {
    const kinds = failures.kinds();
    if (kinds.length > 0 || left > 0) target.log({ level: "error", doing: "reconciling", failures: kinds, left });
  }
}

/** Ten thousand failures are of few kinds: each is told once, with the first as its example. */
class Failures {
  readonly #kinds = new Map<string, { times: number; readonly doing: string; readonly failure: Failure }>();

  readonly add = (doing: string, { failure }: ClusterError): void => {
    const kind = failure.reason === "Refused" ? `${failure.code}` : failure.reason;
    const known = this.#kinds.get(kind);
    if (known === undefined) this.#kinds.set(kind, { times: 1, doing, failure });
    else known.times += 1;
  };

  kinds() {
    return [...this.#kinds.values()];
  }
}

/** The platform ends what runs after an answer at 30 s. */
const AFTER_ANSWER_SECONDS = 20;

/**
 * One reconcile of the VMI that was asked about: a drain repeats its requests every five seconds, so it drives itself; the relay and the tick
 * do the rest. Never throws: what fails is logged, and the next reconcile finds it.
 */
export async function carryOn(target: Target, vmi: NamespacedName, known: Known = {}): Promise<void> {
  const held = target.state.budget.open(target.platform.now());
  try {
    await reconciling(target, AFTER_ANSWER_SECONDS, (deps) => reconcileVmi(vmi, deps, known), { held });
  } catch (error) {
    target.logFailure("carrying an evacuation on", error);
  } finally {
    held.end();
  }
}

/** Creates Events. Never throws: what fails is logged. */
export async function recordEvents(target: Target, events: readonly Action[]): Promise<void> {
  const onFailure = (doing: string, failure: Error) => target.logFailure(doing, failure);
  await perform(events, { cluster: target.connect(AFTER_ANSWER_SECONDS), now: target.platform.now, onFailure });
}
