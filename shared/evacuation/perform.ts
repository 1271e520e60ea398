/** Performs actions in their order, for an answer and for a reconcile alike. */
import type { Client } from "../kube/client.ts";
import { ClusterError, isLasting } from "../kube/failures.ts";
import { type Action, isOptional } from "../kube/action.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { act, type Acting, type ActResult, createEvacuation } from "./act.ts";

export interface Performing extends Acting {
  /** Connections with less time, for what a mark does not depend on. Absent: `cluster`. */
  readonly besides?: () => Client;
}

/** `Refused`: it would fail again: a quota, a policy or a missing permission refuses it. `Failed`: only this time. */
type Outcome = ActResult | "Failed";

export interface Performed {
  readonly outcome: Outcome;
  /** Of what has failed. */
  readonly failure?: ClusterError | undefined;
  /** The Evacuation that was created or joined. */
  readonly created?: EvacuationFacts;
  /** Verbs. */
  readonly done: readonly Action["verb"][];
}

/**
 * Up to the first action that is not done and not optional. An Evacuation is created at the same time as a budget, and before all else: a reconcile
 * that finds a mark alone takes it for KubeVirt's and begins an evacuation of another cause, which knows no deadline and continues when the
 * taint is gone. Where an optional one failed only this time, or has ended under its name, the outcome says so after the rest.
 */
export async function perform(actions: readonly Action[], deps: Performing): Promise<Performed> {
  const done: Action["verb"][] = [];
  const creation = actions.find((action) => action.verb === "CreateEvacuation");
  if (creation === undefined) return { ...(await performInOrder(actions, deps, done)), done };
  const budgets = actions.filter(isOnBudget);
  const [created, budgeted] = await Promise.all([
    performOne(creation, deps, done),
    performInOrder(budgets, deps, done),
  ]);
  const isCreated = created.outcome === "Done";
  if (budgeted.outcome !== "Done") return { ...created, ...budgeted, done };
  if (!isCreated && !isOptional(creation)) return { ...created, done };
  const others = actions.filter((action) => action !== creation && !isOnBudget(action));
  const possible = isCreated ? others : others.filter(({ verb }) => WITHOUT_EVACUATION.has(verb));
  const rest = await performInOrder(possible, deps, done);
  const isLeft = rest.outcome !== "Done" || created.outcome === "Refused";
  return { ...created, ...(isLeft && rest), done };
}

type Ended = Omit<Performed, "done">;

/** Only the end of an Evacuation takes a label off. */
const WITHOUT_EVACUATION: ReadonlySet<Action["verb"]> = new Set(["Unmark", "Mark"]);

async function performInOrder(actions: readonly Action[], deps: Performing, done: Action["verb"][]): Promise<Ended> {
  let failure: ClusterError | undefined;
  for (const action of actions) {
    const ended = await performOne(action, deps, done);
    const isRefusedBudget = isOnBudget(action) && ended.outcome === "Refused";
    if (ended.outcome !== "Done" && !isOptional(action) && !isRefusedBudget) return ended;
    if (isRefusedBudget) failure = ended.failure;
  }
  return { outcome: "Done", failure };
}

async function performOne(action: Action, deps: Performing, done: Action["verb"][]): Promise<Ended> {
  const ended = await attempt(action, deps);
  if (ended.outcome === "Done") done.push(action.verb);
  if (ended.outcome !== "Refused" || action.verb !== "CreateMigration") return ended;
  const refused = await perform(action.ifRefused ?? [], deps);
  done.push(...refused.done);
  if (refused.outcome === "Failed") return refused;
  // KubeVirt's own words are an answer, and what follows from it another reconcile finds.
  return ended.failure === undefined ? { outcome: "Conflict" } : ended;
}

async function attempt(action: Action, deps: Performing): Promise<Ended> {
  try {
    const cluster = (isOptional(action) && deps.besides?.()) || deps.cluster;
    if (action.verb !== "CreateEvacuation") return { outcome: await act(action, { ...deps, cluster }) };
    const created = await createEvacuation(action.evacuation, cluster);
    return created === "Conflict" ? { outcome: created } : { outcome: "Done", created };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    deps.onFailure?.(`performing ${action.verb}`, error);
    return { outcome: isLasting(error.failure) ? "Refused" : "Failed", failure: error };
  }
}

function isOnBudget({ verb }: Action): boolean {
  return verb === "CreateBudget" || verb === "RepairBudget";
}

/** Between review and action another function may act; after so many the caller has to come again. */
const REVIEWS = 3;

interface Reviewed {
  readonly decision: { readonly actions: readonly Action[] };
  /** The VMI's Evacuations could not be listed, and count as none: one that has ended under the new one's name is no reason to reconcile again. */
  readonly isUnlisted?: boolean;
}

/** Reviews, and does what makes the decision true. Undefined: the world kept changing in between. */
export async function reviewAndPerform<R extends Reviewed>(
  review: () => Promise<R>,
  performing: () => Performing,
): Promise<(R & Pick<Performed, "created">) | undefined> {
  for (let i = 0; i < REVIEWS; i++) {
    const reviewed = await review();
    const { outcome, failure, created } = await perform(reviewed.decision.actions, performing());
    if (outcome === "Failed" || outcome === "Refused") throw failure ?? new Error(`an action was ${outcome}`);
    if (outcome === "Done" || reviewed.isUnlisted === true) return { ...reviewed, ...(created && { created }) };
  }
  return undefined;
}

/** Of the platform's six connections, some stay free for reviews. */
const AT_A_TIME = 4;

/** Runs the work on every item, a few at a time, as long as `isTime`; all must be safe to lose. */
export async function eachOf<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  isTime = () => true,
): Promise<{ readonly results: readonly R[]; readonly left: number }> {
  const results: R[] = [];
  const queue = items.values();
  let left = 0;
  const worker = async () => {
    for (const item of queue) {
      if (isTime()) results.push(await work(item));
      else left += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, items.length) }, worker));
  return { results, left };
}
