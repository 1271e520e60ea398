/** Runs reconciles of a cluster within a time limit. Logs all failures of a reconcile in one line. */
import type { Context } from "hono";
import * as z from "zod/mini";
import type { Action } from "../shared/kube/action.ts";
import type { NamespacedName } from "../shared/kube/facts.ts";
import type { ClusterError, Failure } from "../shared/kube/failures.ts";
import { perform } from "../shared/act/perform.ts";
import type { Deps, Result } from "../shared/reconcile/carry-out.ts";
import type { Known } from "../shared/reconcile/sources.ts";
import { reconcileActive, reconcileAll, reconcileUnderWay, reconcileVmi } from "../shared/reconcile/reconcile.ts";
import { keepConditions } from "./conditions.ts";
import type { Target } from "./target.ts";
import { OURS } from "../shared/kube/requests.ts";
import { areBudgetsWanted } from "../shared/budget/budget.ts";
import type { Held } from "../shared/kube/transport.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

export const SETTINGS_SECONDS = 5;
const STARTING_SHARE = 0.8;

interface Within {
  readonly fresh?: boolean;
  readonly held?: Held;
  readonly watched?: boolean;
}

/**
 * Reconciles within a time limit. `fresh` ignores cached settings, and `held` limits the memory of reads. `watched`
 * allows facts from watches. Full scans must not set `watched`.
 */
export async function reconcileWithin(
  target: Target,
  seconds: number,
  reconcile: (deps: Deps) => Promise<Result>,
  { fresh = false, held, watched = false }: Within = {},
): Promise<Result> {
  const { now } = target.platform;
  const limit = target.within(seconds);
  const cluster = target.connect(limit, held);
  const began = now().getTime();
  const connect = (most: number) => target.connect(Math.min(most, limit - (now().getTime() - began) / 1000), held);
  const until = new Date(began + limit * STARTING_SHARE * 1000);
  const { settings } = await target.settings(target.connect(SETTINGS_SECONDS), fresh);
  const failures = new Failures();
  let left = 0;
  try {
    const deps = { cluster, connect, settings, clock: now, until, onFailure: failures.add };
    const result = await reconcile(watched ? { ...deps, watched: target.watched } : deps);
    left = result.left;
    return result;
  } finally {
    const kinds = failures.kinds();
    if (kinds.length > 0 || left > 0) target.log({ level: "error", doing: "reconciling", failures: kinds, left });
  }
}

/** Groups failures by kind, so that thousands of failures fit in one log line. */
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

/** The time limit, in seconds, of work after an answer. Cloudflare stops all such work 30 s after the answer. */
const AFTER_ANSWER_SECONDS = 20;

/** Reconciles the VMI of a review. Logs failures instead of throwing. */
export async function requeue(target: Target, vmi: NamespacedName, known: Known = {}): Promise<void> {
  const held = target.state.budget.open(target.platform.now());
  try {
    await reconcileWithin(target, AFTER_ANSWER_SECONDS, (deps) => reconcileVmi(vmi, deps, known), {
      held,
      watched: true,
    });
  } catch (error) {
    target.logFailure(MESSAGES.reconcilingAfterAnswer, error);
  } finally {
    held.end();
  }
}

export async function recordEvents(target: Target, events: readonly Action[]): Promise<void> {
  const onFailure = (doing: string, failure: Error) => target.logFailure(doing, failure);
  await perform(events, { cluster: target.connect(AFTER_ANSWER_SECONDS), now: target.platform.now, onFailure });
}

const FULL_SCAN_SECONDS = 60;
const TICK_SECONDS = 50;
const UNDER_WAY_SECONDS = 20;
const REQUEUE_SECONDS = 1;

/**
 * Answers a request for a full scan. Answers 200 with the result, or 202 if the time was too short for the whole scan.
 */
export async function reconcileNow(c: Context, target: Target): Promise<Response> {
  const { done, failures, left } = await scanAll(target);
  if (left === 0) return c.json({ done, failures });
  return c.json({ done, failures, left, requeueAfterSeconds: REQUEUE_SECONDS }, 202);
}

/** Reconciles everything. Reads the settings and webhooks from the API server instead of the cache. */
export async function scanAll(target: Target): Promise<Result> {
  try {
    return await reconcileWithin(target, FULL_SCAN_SECONDS, reconcileAll, { fresh: true });
  } finally {
    await keepConditions(target);
  }
}

/**
 * Reconciles active Evacuations with fresh settings. Runs a full scan instead if PodDisruptionBudgets are needed but
 * none exists.
 */
export async function scanActive(target: Target): Promise<Result> {
  const cluster = target.connect(TICK_SECONDS);
  const { settings } = await target.settings(target.connect(SETTINGS_SECONDS), true);
  const [budget] = areBudgetsWanted(settings)
    ? await cluster.list("poddisruptionbudgets", { labels: OURS, limit: 1, as: z.unknown() })
    : [{}];
  return await (budget === undefined
    ? scanAll(target)
    : reconcileWithin(target, TICK_SECONDS, reconcileActive, { watched: true }));
}

export async function scanUnderWay(target: Target): Promise<Result> {
  return await reconcileWithin(target, UNDER_WAY_SECONDS, reconcileUnderWay, { watched: true });
}
