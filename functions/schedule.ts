/** One cluster's share of a tick, and requests for a full scan. */
import type { Context } from "hono";
import * as z from "zod/mini";
import { keepConditions } from "./conditions.ts";
import { descheduleIfDue } from "./descheduling.ts";
import { reconcileActive, reconcileAll } from "../shared/reconcile/reconcile.ts";
import type { Result } from "../shared/reconcile/carry-out.ts";
import { areBudgetsWanted } from "../shared/settings/covered.ts";
import { hash8 } from "../shared/kube/object-name.ts";
import { ClusterError, isSilence } from "../shared/kube/failures.ts";
import { OURS } from "../shared/kube/selections.ts";
import type { Client } from "../shared/kube/client.ts";
import { reconciling, SETTINGS_SECONDS } from "./reconciling.ts";
import { RejectionError } from "./rejection.ts";
import { findEntry, type Surroundings, type Target, targetOf } from "./target.ts";

/** A full scan of ten thousand VMs is about 120 pages. */
const FULL_SCAN_SECONDS = 60;
/** What is under way is a few requests for each VM. */
const TICK_SECONDS = 50;
const FULL_SCAN_EVERY = 10;
const TICK_MS = 60_000;

/** How soon to ask again where there was not enough time: what is left can be done at once. */
const REQUEUE_SECONDS = 1;

/**
 * Always a full scan: 200 with what was done, 202 if there was not enough time for all of it. It is safe to repeat: what has been
 * done is found done.
 */
export async function reconcileNow(c: Context, target: Target): Promise<Response> {
  const { done, failures, left } = await scanAll(target);
  if (left === 0) return c.json({ done, failures });
  return c.json({ done, failures, left, requeueAfterSeconds: REQUEUE_SECONDS }, 202);
}

/** One cluster's share of one tick. */
export interface Tick {
  readonly cluster: string;
  /** Milliseconds since the epoch: when the tick was due. */
  readonly scheduledTime: number;
}

/** One cluster's share of a tick, with its own deadlines and its own errors. Never throws. `seconds`: a limit for all of it. */
export async function tickOne(
  { cluster: name, scheduledTime }: Tick,
  surroundings: Surroundings,
  seconds?: number,
): Promise<void> {
  const target = await targetNamed(name, surroundings, seconds);
  if (target === undefined || !(await isAnswering(target))) return;
  const look: (target: Target) => Promise<unknown> = isFullScan(name, scheduledTime) ? scanAll : lookAtActive;
  // Evacuations first, and then in any case the descheduling: neither's failure is the other's.
  for (const work of [look, descheduleIfDue]) {
    try {
      await work(target);
    } catch (error) {
      target.logFailure("the scheduled tick", error);
    }
  }
}

/** Of the ticks, a minute apart, every tenth looks at everything; which one it is differs from cluster to cluster. */
export function isFullScan(name: string, scheduledTime: number): boolean {
  const minute = Math.floor(scheduledTime / TICK_MS);
  return (minute + Number.parseInt(hash8(name), 16)) % FULL_SCAN_EVERY === 0;
}

/** Undefined, and told in the log: an entry that is not valid, or is gone. */
async function targetNamed(name: string, surroundings: Surroundings, seconds?: number): Promise<Target | undefined> {
  const { log, now } = surroundings.platform;
  const shareEnds = seconds === undefined ? undefined : new Date(now().getTime() + seconds * 1000);
  try {
    return targetOf(name, await findEntry(name, surroundings), surroundings, shareEnds);
  } catch (error) {
    const told =
      error instanceof RejectionError
        ? { reason: error.reason, ...error.told }
        : { doing: "finding the cluster", error: error instanceof Error ? error.stack : undefined };
    log({ level: "error", cluster: name, ...told });
    return undefined;
  }
}

/** An API server that hangs costs the tick these few seconds: settings last seen are no reason to ask it for more. */
async function isAnswering(target: Target): Promise<boolean> {
  try {
    const { silence } = await target.settings(target.connect(SETTINGS_SECONDS));
    if (silence !== undefined) throw silence;
  } catch (error) {
    // A refusal is an answer: what meets it says so.
    if (error instanceof ClusterError && !isSilence(error)) return true;
    target.logFailure("the scheduled tick", error);
    return false;
  }
  return true;
}

/** Looks at settings and webhooks, too: what has just been installed counts. */
async function scanAll(target: Target): Promise<Result> {
  try {
    return await reconciling(target, FULL_SCAN_SECONDS, reconcileAll, { fresh: true });
  } finally {
    await keepConditions(target);
  }
}

/** Where budgets have become necessary, because a webhook does not fail closed any more, they come back with this tick. */
async function lookAtActive(target: Target): Promise<unknown> {
  const cluster = target.connect(TICK_SECONDS);
  const { settings } = await target.settings(target.connect(SETTINGS_SECONDS));
  if (areBudgetsWanted(settings) && !(await isAnyBudget(cluster))) return await scanAll(target);
  return await reconciling(target, TICK_SECONDS, reconcileActive);
}

/** Whether Lifeboat has made any: one small request. */
async function isAnyBudget(cluster: Client): Promise<boolean> {
  return (await cluster.list("poddisruptionbudgets", { labels: OURS, limit: 1, as: z.unknown() })).length > 0;
}
