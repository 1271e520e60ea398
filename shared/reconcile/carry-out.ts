/** Performs the actions of plans, and counts the results. */
import type { Reads } from "../facts/decide.ts";
import type { Client } from "../kube/client.ts";
import { ClusterError, isOddObject } from "../kube/failures.ts";
import type { Plans } from "../kube/action.ts";
import type { Settings } from "../settings/settings.ts";
import { eachOf } from "../act/each-of.ts";
import { perform } from "../act/perform.ts";

/** An object to reconcile. Lifeboat always reads the object before it decides. */
export type ReconcileRequest =
  | { readonly kind: "VirtualMachineInstance"; readonly namespace: string; readonly name: string }
  | { readonly kind: "Pod"; readonly namespace: string; readonly name: string }
  | { readonly kind: "Node"; readonly name: string }
  | { readonly kind: "NodeEvacuation"; readonly name: string }
  | { readonly kind: "RollingMaintenance"; readonly name: string }
  /** A pod that a kubelet is ending. The pod's status does not show this yet. */
  | { readonly kind: "EndingPod"; readonly namespace: string; readonly name: string; readonly by: string };

export interface Deps {
  readonly cluster: Client;
  readonly connect: (seconds: number) => Client;
  /**
   * Reads from watches, which may be outdated. Absent if the process has no watches, or if this reconcile must not use
   * them.
   */
  readonly watched?: ((cluster: Client) => Reads) | undefined;
  readonly settings: Settings;
  readonly clock: () => Date;
  /** No work starts after this time. Absent if the time is unlimited. */
  readonly until?: Date;
  readonly onFailure: (doing: string, failure: ClusterError) => void;
}

export interface Result {
  readonly done: Readonly<Record<string, number>>;
  readonly failures: number;
  /** The number of `failures` that a retry would not fix: refused requests, and objects that Lifeboat cannot parse. */
  readonly refused: number;
  readonly left: number;
  /**
   * True if another reconcile should follow immediately, because an action needs another step, or because another
   * process changed the object first.
   */
  readonly again: boolean;
  /** Names of the nodes under pressure from which VMs are moving away. Another VM may now be allowed to leave. */
  readonly pressured: readonly string[];
  /** The NodeEvacuations that may now move another VM, because the Evacuation of one of their VMs has changed. */
  readonly nodeEvacuations: readonly string[];
  /** True if a VM is moving or a node is being drained. Another reconcile should follow within seconds. */
  readonly isUnderWay: boolean;
}

export const NOTHING: Result = {
  done: {},
  failures: 0,
  refused: 0,
  left: 0,
  again: false,
  pressured: [],
  nodeEvacuations: [],
  isUnderWay: false,
};

export function sum(results: readonly Result[]): Result {
  const total = (of: (result: Result) => number) => results.reduce((count, result) => count + of(result), 0);
  const verbs = new Set(results.flatMap(({ done }) => Object.keys(done)));
  return {
    done: Object.fromEntries([...verbs].map((verb) => [verb, total(({ done }) => done[verb] ?? 0)])),
    failures: total(({ failures }) => failures),
    refused: total(({ refused }) => refused),
    left: total(({ left }) => left),
    again: results.some(({ again }) => again),
    pressured: [...new Set(results.flatMap(({ pressured }) => pressured))],
    nodeEvacuations: [...new Set(results.flatMap(({ nodeEvacuations }) => nodeEvacuations))],
    isUnderWay: results.some(({ isUnderWay }) => isUnderWay),
  };
}

interface Attempt<T> {
  readonly found?: T;
  readonly result: Result;
}

/** Runs `work`. If a read fails, counts a failure and lets the other reconciles continue. */
export async function attempt<T>(doing: string, { onFailure }: Deps, work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { found: await work(), result: NOTHING };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure(doing, error);
    return { result: { ...NOTHING, failures: 1, refused: isOddObject(error.failure) ? 1 : 0 } };
  }
}

export async function carryOut(plans: Plans, deps: Deps): Promise<Result> {
  const results: Result[] = [];
  for (const { name, chains, again = false } of plans) {
    const onFailure = (_: string, failure: ClusterError) => deps.onFailure(`reconciling: ${name}`, failure);
    const performing = { cluster: deps.cluster, now: deps.clock, onFailure };
    const chained = await eachOf(chains, (chain) => perform(chain, performing), isTime(deps));
    const performed = chained.results.map(({ outcome, failure, done }) => {
      const count = failure === undefined ? 0 : 1;
      const counts = done.map((verb) => ({ ...NOTHING, done: { [verb]: 1 } }));
      const refused = outcome === "Failed" ? 0 : count;
      return sum([...counts, { ...NOTHING, failures: count, refused, again: outcome === "Conflict" }]);
    });
    results.push(...performed, { ...NOTHING, left: chained.left, again });
  }
  return sum(results);
}

export function isTime({ clock, until }: Deps): () => boolean {
  return () => until === undefined || clock() < until;
}
