/** Performing the chains of a plan. */
import type { ActResult } from "../cluster/write.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError, isLasting } from "../cluster/failure.ts";
import { type Action, isOptional } from "../policy/action.ts";
import type { Settings } from "../policy/settings.ts";
import type { Reconciler } from "./reconciler.ts";
import type { World } from "./world.ts";

export interface Deps {
  readonly cluster: Cluster;
  /** The same cluster by a connection whose requests end after so many seconds, and with the others at the latest. */
  readonly connect: (seconds: number) => Cluster;
  readonly settings: Settings;
  readonly clock: () => Date;
  /** Nothing is begun after this time; absent: the requests' own deadline ends what is left. */
  readonly until?: Date;
  /** Told of what could not be read or done; the rest is not affected. */
  readonly onFailure: (doing: string, failure: ClusterError) => void;
}

export interface Result {
  /** Action verb to count. */
  readonly done: Readonly<Record<string, number>>;
  readonly failures: number;
  /** Of these, what would fail again: a quota, a policy or a missing permission refuses it, or the object cannot be understood. */
  readonly refused: number;
  /** What time did not suffice for: chains of actions, or VMs that were not looked at. */
  readonly left: number;
  /** What was done has consequences, or another function was faster: another look is worth it at once. */
  readonly again: boolean;
  /** Nodes that VMs leave because of pressure: when one of them has left, or cannot, the next one may. */
  readonly pressed: readonly string[];
}

export const NOTHING: Result = { done: {}, failures: 0, refused: 0, left: 0, again: false, pressed: [] };

export function sum(results: readonly Result[]): Result {
  const done: Record<string, number> = {};
  for (const result of results) {
    for (const [verb, count] of Object.entries(result.done)) done[verb] = (done[verb] ?? 0) + count;
  }
  const failures = results.reduce((total, result) => total + result.failures, 0);
  const refused = results.reduce((total, result) => total + result.refused, 0);
  const left = results.reduce((total, result) => total + result.left, 0);
  const pressed = [...new Set(results.flatMap((result) => result.pressed))];
  return { done, failures, refused, left, again: results.some((result) => result.again), pressed };
}

/** Of the platform's six connections, some stay free for the doors. */
const AT_A_TIME = 4;

/** Runs the work on every item, a few at a time, as long as there is time; all must be safe to lose. */
export async function eachOf<T, R>(
  items: readonly T[],
  { clock, until }: Pick<Deps, "clock" | "until">,
  work: (item: T) => Promise<R>,
): Promise<{ readonly results: readonly R[]; readonly left: number }> {
  const results: R[] = [];
  const queue = items.values();
  let left = 0;
  const worker = async () => {
    for (const item of queue) {
      if (until !== undefined && clock() >= until) left += 1;
      else results.push(await work(item));
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, items.length) }, worker));
  return { results, left };
}

/** The same, of all of them: their requests' own deadline is the only one. */
export async function everyOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  return (await eachOf(items, { clock: () => new Date(0) }, work)).results;
}

type ChainEnd = "Done" | "Conflict" | "Failed" | "Refused";

export async function runReconcilers(reconcilers: readonly Reconciler[], world: World, deps: Deps): Promise<Result> {
  const results: Result[] = [];
  for (const reconciler of reconcilers) {
    const { chains, again = false } = reconciler.plan(world);
    const done: Record<string, number> = {};
    const chained = await eachOf(chains, deps, (chain) => perform(chain, { reconciler, world, deps, done }));
    const { results: ends, left } = chained;
    const refusals = ends.filter((end) => end === "Refused").length;
    const failures = refusals + ends.filter((end) => end === "Failed").length;
    results.push({ ...NOTHING, done, failures, refused: refusals, left, again: again || ends.includes("Conflict") });
  }
  return sum(results);
}

interface Performance {
  readonly reconciler: Reconciler;
  readonly world: World;
  readonly deps: Deps;
  readonly done: Record<string, number>;
}

async function perform(chain: readonly Action[], p: Performance): Promise<ChainEnd> {
  for (const action of chain) {
    const end = await performOne(action, p);
    if (end !== "Done") return end;
  }
  return "Done";
}

async function performOne(action: Action, p: Performance): Promise<ChainEnd> {
  const { deps, done } = p;
  try {
    const result: ActResult = await deps.cluster.act(action);
    if (result === "Refused") return await refused(action, p);
    if (result === "Done") done[action.verb] = (done[action.verb] ?? 0) + 1;
    return isOptional(action) ? "Done" : result;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    deps.onFailure(`reconciling: ${p.reconciler.name}`, error);
    if (isOptional(action)) return "Done";
    // By whatever stands in front of KubeVirt: a quota, a policy, a permission that is missing.
    if (!isLasting(error.failure)) return "Failed";
    return (await refused(action, p)) === "Failed" ? "Failed" : "Refused";
  }
}

/** The rest of the chain is not done; what a refusal leads to is. */
async function refused(action: Action, p: Performance): Promise<ChainEnd> {
  const { reconciler, world } = p;
  return (await perform(reconciler.refused?.(action, world) ?? [], p)) === "Failed" ? "Failed" : "Conflict";
}
