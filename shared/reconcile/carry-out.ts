/** Carries out what the policy plans for a world. */
import type { AnnotationWorld } from "../annotations/descheduler-annotations.ts";
import { type BudgetWorld, isBudgetDue, planBudgets } from "../budget/budget.ts";
import type { EvacuationWorld } from "../evacuation/world.ts";
import { FEATURES } from "../features.ts";
import type { DisruptionWorld } from "../guard/disruption.ts";
import type { PressureWorld } from "../pressure/pressure.ts";
import type { ShieldWorld } from "../shield/shield.ts";
import { isSafeOnCachedFacts } from "../facts/safe-actions.ts";
import type { Client } from "../kube/client.ts";
import { ClusterError, isOddObject } from "../kube/failures.ts";
import type { Action, Plan } from "../kube/action.ts";
import { type HistoryWorld, planBeginnings, planEvacuations, planHistory } from "../evacuation/plan.ts";
import { isActive } from "../kube/evacuation.ts";
import type { Settings } from "../settings/settings.ts";
import { secondsSince } from "../settings/time.ts";
import { eachOf } from "../evacuation/each-of.ts";
import { perform } from "../evacuation/perform.ts";

export type World = HistoryWorld &
  EvacuationWorld &
  BudgetWorld &
  DisruptionWorld &
  PressureWorld &
  ShieldWorld &
  AnnotationWorld;

export const NO_WORLD = {
  vmis: [],
  evacuations: [],
  migrations: [],
  budgets: [],
  pods: [],
  nodes: [],
  launchers: [],
  pressured: [],
  candidateNodes: [],
  signals: [],
  shielded: [],
  vmisAreNewer: false,
  complete: false,
  areVmisKnown: false,
  openNodeEvacuations: new Set<string>(),
} as const satisfies Omit<World, "settings" | "now">;

/** Where something has happened, as an event says. It only says what to reconcile: the world is read anew. */
export type ReconcileRequest =
  | { readonly kind: "VirtualMachineInstance"; readonly namespace: string; readonly name: string }
  | { readonly kind: "Pod"; readonly namespace: string; readonly name: string }
  | { readonly kind: "Node"; readonly name: string }
  | { readonly kind: "NodeEvacuation"; readonly name: string }
  | { readonly kind: "RollingMaintenance"; readonly name: string }
  /** A kubelet has started to end this pod; the API does not show it yet. */
  | { readonly kind: "EndingPod"; readonly namespace: string; readonly name: string; readonly by: string };

export interface Deps {
  readonly cluster: Client;
  readonly connect: (seconds: number) => Client;
  /** The client, with reads that may be old. Absent: where nothing is watched, and what must find what no watch has shown. */
  readonly cached?: ((cluster: Client) => Client) | undefined;
  readonly settings: Settings;
  readonly clock: () => Date;
  /** Nothing is started after this time; absent: the requests' own deadline ends what is left. */
  readonly until?: Date;
  readonly onFailure: (doing: string, failure: ClusterError) => void;
}

export interface Result {
  readonly done: Readonly<Record<string, number>>;
  readonly failures: number;
  /** Of these, what would fail again: it is refused, or the object cannot be understood. */
  readonly refused: number;
  readonly left: number;
  /** What was done has consequences, or another function was faster: another reconcile is worth it at once. */
  readonly again: boolean;
  /** Nodes that VMs leave because of pressure: when one of them has left, or cannot, the next one may. */
  readonly pressed: readonly string[];
  /** Names of NodeEvacuations that VMs leave for: likewise. */
  readonly emptied: readonly string[];
  /** A VM is on its way, or a node is being emptied: another reconcile in some seconds is worth it. */
  readonly isUnderWay: boolean;
}

export const NOTHING: Result = {
  done: {},
  failures: 0,
  refused: 0,
  left: 0,
  again: false,
  pressed: [],
  emptied: [],
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
    pressed: [...new Set(results.flatMap(({ pressed }) => pressed))],
    emptied: [...new Set(results.flatMap(({ emptied }) => emptied))],
    isUnderWay: results.some(({ isUnderWay }) => isUnderWay),
  };
}

interface Attempt<T> {
  readonly found?: T;
  readonly result: Result;
}

/** What cannot be read is a failure, and the rest is reconciled all the same. */
export async function attempt<T>(doing: string, { onFailure }: Deps, work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { found: await work(), result: NOTHING };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure(doing, error);
    return { result: { ...NOTHING, failures: 1, refused: isOddObject(error.failure) ? 1 : 0 } };
  }
}

/** Pure rules: what to do in a world. */
interface Rules {
  readonly name: string;
  readonly plan: (world: World) => Plan;
}

/** Features mark first what is urgent. */
export const FEATURE_RULES: readonly Rules[] = FEATURES.flatMap((one) => ("plan" in one ? [one] : []));
export const BUDGET_RULES: Rules = { name: "budget", plan: planBudgets };
const EVACUATION_RULES: Rules = { name: "evacuation", plan: planEvacuations };
export const BEGINNING_RULES: Rules = { name: "beginnings", plan: planBeginnings };
export const HISTORY_RULES: Rules = { name: "history", plan: planHistory };

export async function carryOut(rules: readonly Rules[], world: World, deps: Deps): Promise<Result> {
  const results: Result[] = [];
  for (const { name, plan } of rules) {
    const { chains, again = false } = plan(world);
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

/** Rules for one VMI. Budgets are created before migrations. */
export function rulesFor({ evacuations }: World): readonly Rules[] {
  return [...FEATURE_RULES, ...(isBudgetDue(evacuations) ? [BUDGET_RULES] : []), EVACUATION_RULES];
}

/** So long a watch may be behind: a mark that it shows may be that of the Evacuation before, and not the present one's. */
const BEHIND_SECONDS = 60;

const isSafeOnWatches = (action: Action) => isSafeOnCachedFacts(action, "Reconcile");

/** Whether all that would be done may be done although the world may be old; `isSafeAction`: by what safe-actions.ts says of what has been read. */
export function isSafe(world: World, isSafeAction = isSafeOnWatches): boolean {
  const { evacuations, now } = world;
  const hasJustEnded = evacuations.some(({ status }) => secondsSince(status.completionTime, now) < BEHIND_SECONDS);
  if (hasJustEnded && evacuations.some(isActive)) return false;
  return rulesFor(world).every(({ plan }) => plan(world).chains.flat().every(isSafeAction));
}

export function isTime({ clock, until }: Deps): () => boolean {
  return () => until === undefined || clock() < until;
}
