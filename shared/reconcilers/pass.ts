/**
 * One pass of all reconcilers: observe, decide, act.
 * Owns: their list and the performing of chains. Does not own: observing (world.ts), deciding (shared/policy), the
 * requests (shared/cluster).
 */
import type { ActResult } from "../cluster/act.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError } from "../cluster/failure.ts";
import { type Action, isOptional } from "../policy/action.ts";
import { isTooLate } from "../policy/fresh.ts";
import type { Settings } from "../policy/settings.ts";
import { budget } from "./budget.ts";
import { deschedulerAnnotations } from "./descheduler-annotations.ts";
import { disruption } from "./disruption.ts";
import { evacuation } from "./evacuation.ts";
import { pressure } from "./pressure.ts";
import type { Reconciler } from "./reconciler.ts";
import { observe, type Scope, type World } from "./world.ts";

/**
 * In this order: what is urgent is marked first, budgets grow before migrations are created, and pods stop saying that an
 * evacuation is under way before its label goes.
 */
const RECONCILERS: readonly Reconciler[] = [disruption, pressure, budget, deschedulerAnnotations, evacuation];

export interface Deps {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly clock: () => Date;
  /** Told of a chain that could not be finished; the others are not affected. */
  readonly onFailure: (reconciler: string, failure: ClusterError) => void;
}

export interface Result {
  /** Absent: nothing is due until somebody acts. */
  readonly requeueAfterSeconds?: number;
  /** What was done: action verb to count. */
  readonly done: Readonly<Record<string, number>>;
  readonly failures: number;
}

/** Chains performed at a time: of the platform's six connections, some stay free for the door. */
const CONCURRENT_CHAINS = 4;

type ChainEnd = "Done" | "Conflict" | "Refused" | "Failed";

/** One pass over the scope. Safe to run many times at once and to be killed anywhere: the next one looks again. */
export async function reconcile(scope: Scope, deps: Deps): Promise<Result> {
  const world = await observe(scope, { ...deps, now: deps.clock() });
  const done: Record<string, number> = {};
  const waits: number[] = [];
  let failures = 0;
  for (const reconciler of RECONCILERS) {
    const { chains, requeueAfterSeconds } = reconciler.plan(world);
    const ends = await performAll(chains, (chain) => perform(chain, { reconciler, world, deps, done }));
    failures += ends.filter((end) => end === "Failed").length;
    if (ends.includes("Conflict")) waits.push(0);
    if (requeueAfterSeconds !== undefined) waits.push(requeueAfterSeconds);
  }
  return { done, failures, ...(waits.length === 0 ? {} : { requeueAfterSeconds: Math.min(...waits) }) };
}

async function performAll<T>(items: readonly T[], work: (item: T) => Promise<ChainEnd>): Promise<readonly ChainEnd[]> {
  const ends: ChainEnd[] = [];
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) ends.push(await work(item));
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENT_CHAINS, items.length) }, worker));
  return ends;
}

interface Performance {
  readonly reconciler: Reconciler;
  readonly world: World;
  readonly deps: Deps;
  readonly done: Record<string, number>;
}

async function perform(chain: readonly Action[], p: Performance): Promise<ChainEnd> {
  for (const action of chain) {
    const end = isTooLate(action, p.world.now, p.deps.clock()) ? "Conflict" : await performOne(action, p);
    if (end !== "Done") return end;
  }
  return "Done";
}

async function performOne(action: Action, p: Performance): Promise<ChainEnd> {
  const { reconciler, world, deps, done } = p;
  try {
    const result: ActResult = await deps.cluster.act(action, deps.settings);
    if (result === "Refused") {
      const end = await perform(reconciler.refused?.(action, world) ?? [], p);
      return end === "Done" ? "Refused" : end;
    }
    if (result === "Done") done[action.verb] = (done[action.verb] ?? 0) + 1;
    return isOptional(action) ? "Done" : result;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    deps.onFailure(reconciler.name, error);
    return await afterFailure(action, error, p);
  }
}

async function afterFailure(action: Action, { failure }: ClusterError, p: Performance): Promise<ChainEnd> {
  if (isOptional(action)) return "Done";
  await perform(p.reconciler.failed?.(action, p.world, failure) ?? [], p);
  return "Failed";
}
