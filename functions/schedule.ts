/**
 * The clock's door: the cron trigger, and requests for a full scan.
 * Owns: how many clusters at a time, and when a tick is a full scan. Does not own: the passes (shared/pass).
 */
import type { Context } from "hono";
import { keepConditions } from "./conditions.ts";
import { descheduleIfDue } from "./descheduling.ts";
import { reconcileActive, reconcileAll } from "../shared/pass/pass.ts";
import { areBudgetsWanted } from "../shared/policy/budget/budget-mode.ts";
import { reconciling } from "./carry-on.ts";
import { allTargets, type Surroundings, type Target } from "./target.ts";

/** A full scan of ten thousand VMs is about 120 pages. */
const FULL_SCAN_SECONDS = 60;
/** What is under way is a few requests for each VM. */
const TICK_SECONDS = 50;
/** Of the ticks, a minute apart, every tenth looks at everything; the others at Evacuations that have not ended. */
const FULL_SCAN_EVERY = 10;
const TICK_MS = 60_000;
/**
 * A tick has six connections and one isolate's memory for the whole fleet: with all clusters at once, a few that do not
 * answer would use up the deadlines of those that are only waiting for a connection.
 */
const CLUSTERS_AT_A_TIME = 4;

/** Always a full scan; 200 with what was done. */
export async function reconcileNow(c: Context, target: Target): Promise<Response> {
  const scan = reconciling(target, FULL_SCAN_SECONDS, reconcileAll);
  const { done, failures } = await scan.finally(() => {
    c.executionCtx.waitUntil(keepConditions(target));
  });
  return c.json({ done, failures });
}

/** One tick for every cluster: each has its own deadline and its own error. */
export async function runTick(scheduledTime: number, surroundings: Surroundings): Promise<void> {
  const full = Math.floor(scheduledTime / TICK_MS) % FULL_SCAN_EVERY === 0;
  const targets = (await allTargets(surroundings)).values();
  const worker = async () => {
    for (const target of targets) await tickOne(target, full);
  };
  await Promise.all(Array.from({ length: CLUSTERS_AT_A_TIME }, worker));
}

/** Evacuations first, and then whatever becomes of them the descheduling: neither's failure is the other's. */
async function tickOne(target: Target, full: boolean): Promise<void> {
  for (const work of [full ? scanAll : lookAtActive, descheduleIfDue]) {
    try {
      await work(target);
    } catch (error) {
      target.logFailure("the scheduled tick", error);
    }
  }
}

async function scanAll(target: Target): Promise<void> {
  try {
    await reconciling(target, FULL_SCAN_SECONDS, reconcileAll);
  } finally {
    await keepConditions(target);
  }
}

/** Where budgets have become necessary, because a webhook does not fail closed any more, they come back with this tick. */
async function lookAtActive(target: Target): Promise<void> {
  const cluster = target.connect(TICK_SECONDS);
  const { settings } = await target.settings(cluster);
  if (areBudgetsWanted(settings) && !(await cluster.isAnyBudget())) return await scanAll(target);
  await reconciling(target, TICK_SECONDS, reconcileActive);
}
