/** Performs actions in their order, for an answer and for a reconcile alike. */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError, isLasting } from "../cluster/failure.ts";
import { type Action, isOptional } from "../policy/action.ts";
import type { EvacuationFacts } from "../policy/facts.ts";

export interface Performing {
  readonly cluster: Cluster;
  /** Connections with less time, for what a mark does not depend on. Absent: `cluster`. */
  readonly besides?: () => Cluster;
  /** Told of each failure, that of an optional action included. */
  readonly onFailure?: ((doing: string, failure: ClusterError) => void) | undefined;
}

/** `Conflict`: the world is not what was observed. `Refused`: it would fail again: a quota, a policy or a missing permission refuses it. */
type Outcome = "Done" | "Conflict" | "Failed" | "Refused";

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
 * Up to the first action that is not done and not optional. An Evacuation is created while budgets grow, and before all else: a reconcile
 * that finds a mark alone takes it for KubeVirt's and begins an evacuation of another cause, which knows no deadline and goes on when the
 * taint is gone. Where an optional one failed only this time, or has ended under its name, the outcome says so after the rest.
 */
export async function perform(actions: readonly Action[], deps: Performing): Promise<Performed> {
  const done: Action["verb"][] = [];
  const creation = actions.find((action) => action.verb === "CreateEvacuation");
  if (creation === undefined) return { ...(await performInOrder(actions, deps, done)), done };
  const budgets = actions.filter(isOnBudget);
  const [created, grown] = await Promise.all([performOne(creation, deps, done), performInOrder(budgets, deps, done)]);
  const isCreated = created.outcome === "Done";
  if (grown.outcome !== "Done") return { ...created, ...grown, done };
  if (!isCreated && !isOptional(creation)) return { ...created, done };
  const others = actions.filter((action) => action !== creation && !isOnBudget(action));
  const possible = isCreated ? others : others.filter(({ verb }) => WITHOUT_EVACUATION.has(verb));
  const rest = await performInOrder(possible, deps, done);
  const isLeft = rest.outcome !== "Done" || created.outcome === "Refused";
  return { ...created, ...(isLeft && rest), done };
}

type Ended = Omit<Performed, "done">;

const DONE: Ended = { outcome: "Done" };

/** Only the end of an Evacuation takes a label off. */
const WITHOUT_EVACUATION: ReadonlySet<Action["verb"]> = new Set(["Unmark", "Mark"]);

async function performInOrder(actions: readonly Action[], deps: Performing, done: Action["verb"][]): Promise<Ended> {
  for (const action of actions) {
    const ended = await performOne(action, deps, done);
    if (ended.outcome !== "Done" && !isOptional(action)) return ended;
  }
  return DONE;
}

async function performOne(action: Action, deps: Performing, done: Action["verb"][]): Promise<Ended> {
  const ended = await attempt(action, deps);
  if (ended.outcome === "Done") done.push(action.verb);
  if (ended.outcome === "Conflict" && isOnBudget(action) && !isOptional(action)) return await makeBudget(action, deps);
  if (ended.outcome !== "Refused" || action.verb !== "CreateMigration") return ended;
  const refused = await perform(action.ifRefused ?? [], deps);
  done.push(...refused.done);
  if (refused.outcome === "Failed") return refused;
  // KubeVirt's own words are an answer, and what follows from it another reconcile finds.
  return ended.failure === undefined ? { outcome: "Conflict" } : ended;
}

async function attempt(action: Action, { cluster, besides, onFailure }: Performing): Promise<Ended> {
  const { verb } = action;
  try {
    const by = (isOptional(action) && besides?.()) || cluster;
    if (verb !== "CreateEvacuation") return { outcome: await by.act(action) };
    const created = await by.createEvacuation(action.evacuation);
    return created === "Conflict" ? { outcome: created } : { outcome: "Done", created };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure?.(`performing ${verb}`, error);
    return { outcome: isLasting(error.failure) ? "Refused" : "Failed", failure: error };
  }
}

/**
 * A VM that no scan has seen yet gets its budget now. Where Lifeboat may not make one, which the next scan reports, the rest is done
 * all the same.
 */
async function makeBudget(action: OnBudget, deps: Performing): Promise<Ended> {
  const { vmi, name } = action;
  const minAvailable = action.verb === "GrowBudget" ? 2 : action.minAvailable;
  const made = await attempt({ verb: "CreateBudget", vmi, name, minAvailable }, deps);
  if (made.outcome === "Refused") return DONE;
  // Another function may have made it meanwhile, and made it small.
  return made.outcome === "Done" && action.verb === "GrowBudget" ? await attempt(action, deps) : made;
}

type OnBudget = Extract<Action, { verb: "EnsureBudget" | "GrowBudget" }>;

function isOnBudget(action: Action): action is OnBudget {
  return action.verb === "EnsureBudget" || action.verb === "GrowBudget";
}

/** Between review and action another function may act; after so many the caller has to come again. */
const REVIEWS = 3;

interface Reviewed {
  readonly decision: { readonly actions: readonly Action[] };
  /** The VMI's Evacuations could not be listed, and count as none: one that has ended under the new one's name is no reason to look again. */
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
