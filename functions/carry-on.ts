/**
 * What follows an answer, once: Lifeboat tells the story as Events and reconciles the VM that was asked about.
 * Owns: the time limit of that. Does not own: the reconcile (shared/pass/pass.ts).
 *
 * A drain repeats its requests every five seconds, so it drives itself; the relay and the tick do the rest.
 */
import { ClusterError, type Failure } from "../shared/cluster/failure.ts";
import type { Action } from "../shared/policy/action.ts";
import type { NamespacedName } from "../shared/policy/facts.ts";
import { DEFAULT_SETTINGS } from "../shared/policy/settings.ts";
import type { Known } from "../shared/pass/observe-vmi.ts";
import { reconcileVmi } from "../shared/pass/pass.ts";
import type { Deps, Result } from "../shared/pass/perform.ts";
import type { Target } from "./target.ts";

/** The platform ends what runs after an answer at 30 s. */
const SECONDS = 20;
/** A few objects: what takes longer does not answer. */
export const SETTINGS_SECONDS = 5;

/** One reconcile of the VMI. Never throws: what fails is logged, and the next look finds it. */
export async function carryOn(target: Target, vmi: NamespacedName, known: Known = {}): Promise<void> {
  try {
    await reconciling(target, SECONDS, (deps) => reconcileVmi(vmi, deps, known));
  } catch (error) {
    target.logFailure("carrying an evacuation on", error);
  }
}

/** Tells Events. Never throws: what fails is logged. */
export async function tell(target: Target, story: readonly Action[]): Promise<void> {
  const cluster = target.connect(SECONDS);
  for (const action of story) {
    try {
      await cluster.act(action, DEFAULT_SETTINGS);
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      target.logFailure("telling an Event", error);
    }
  }
}

/** Of the time for a reconcile, the part in which something is begun: what was begun comes to its end in the rest. */
const BEGINNING = 0.8;

/**
 * Reconciles with requests that all end after so many seconds; what failed, and what time did not suffice for, is one line of the
 * log. Throws a ClusterError where nothing could be read at all.
 */
export async function reconciling(
  target: Target,
  seconds: number,
  reconcile: (deps: Deps) => Promise<Result>,
): Promise<Result> {
  const { now } = target.platform;
  const cluster = target.connect(seconds);
  const until = new Date(now().getTime() + seconds * BEGINNING * 1000);
  const { settings } = await target.settings(target.connect(SETTINGS_SECONDS));
  const failures = new Failures();
  let left = 0;
  try {
    const result = await reconcile({ cluster, settings, clock: now, until, onFailure: failures.add });
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
