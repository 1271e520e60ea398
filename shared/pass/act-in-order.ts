/** Performing what a decision asks for, where a caller waits for the outcome. */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError, isLasting } from "../cluster/failure.ts";
import { type Action, isOptional, type NewEvacuation } from "../policy/action.ts";
import type { EvacuationFacts } from "../policy/facts.ts";
import type { Settings } from "../policy/settings.ts";

export interface Acted {
  /** Whether everything was done. */
  readonly done: boolean;
  /** The Evacuation that was created or joined. */
  readonly created?: EvacuationFacts;
}

export interface Acting {
  readonly cluster: Cluster;
  readonly settings: Settings;
  /** Connections with less time, for what a mark does not depend on. Absent: `cluster`. */
  readonly besides?: () => Cluster;
  readonly onFailure?: ((doing: string, failure: ClusterError) => void) | undefined;
}

/**
 * In order, up to the first conflict. A disruption's Evacuation comes before its mark: a look that finds a mark alone takes it
 * for KubeVirt's and begins an evacuation of another cause, which knows no deadline and goes on when the taint is gone. That
 * of an eviction is written at the same time as the rest: nothing else depends on it. `EvacuationUnknown`: first, too, but one that has
 * ended under its name, which no list has shown, does not keep the VM from being marked.
 *
 * A VM whose Evacuation cannot be created (a quota, a policy, a namespace that ends) is marked all the same. What failed for the moment
 * only is thrown after that, to be created by another look.
 */
export async function actInOrder(
  actions: readonly Action[],
  deps: Acting,
  how: "AtOnce" | "EvacuationFirst" | "EvacuationUnknown" = "AtOnce",
): Promise<Acted> {
  const creation = actions.find((action) => action.verb === "CreateEvacuation");
  const others = actions.filter((action) => action !== creation);
  if (creation === undefined) return { done: await othersInOrder(others, deps) };
  const creating = create(creation.evacuation, deps);
  if (how === "AtOnce") return outcomeOf(...(await Promise.all([creating, othersInOrder(others, deps)])));
  const created = await creating;
  if (created === "Conflict" && how === "EvacuationFirst") return { done: false };
  // Only the end of an Evacuation takes a label off.
  const done = await othersInOrder(
    isEvacuation(created) ? others : others.filter(({ verb }) => verb !== "Label"),
    deps,
  );
  return created === "Conflict" ? { done } : outcomeOf(created, done);
}

type Created = EvacuationFacts | "Conflict" | ClusterError;

function isEvacuation(created: Created): created is EvacuationFacts {
  return created !== "Conflict" && !(created instanceof ClusterError);
}

function outcomeOf(created: Created, done: boolean): Acted {
  if (isEvacuation(created)) return { done, created };
  if (created === "Conflict") return { done: false };
  if (!isLasting(created.failure)) throw created;
  return { done };
}

/** Also what failed is a result: it is not to end what is done at the same time. */
async function create(evacuation: NewEvacuation, { cluster, besides, onFailure }: Acting): Promise<Created> {
  try {
    return await (besides?.() ?? cluster).createEvacuation(evacuation);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure?.("creating an Evacuation", error);
    return error;
  }
}

/** Between two looks another function may act; after so many the caller has to come again. */
const LOOKS = 3;

/** Looks again as long as what was observed had changed by the time of acting: then the look returns undefined. */
export async function lookAndAct<T>(look: () => Promise<T | undefined>): Promise<T | undefined> {
  for (let i = 0; i < LOOKS; i++) {
    const found = await look();
    if (found !== undefined) return found;
  }
  return undefined;
}

async function othersInOrder(actions: readonly Action[], deps: Acting): Promise<boolean> {
  for (const action of actions) {
    if (!(await isDone(action, deps)) && !isOptional(action)) return false;
  }
  return true;
}

async function isDone(action: Action, deps: Acting): Promise<boolean> {
  try {
    const cluster = isOptional(action) ? (deps.besides?.() ?? deps.cluster) : deps.cluster;
    const result = await cluster.act(action);
    if (result === "Done" || !needsBudget(action)) return result === "Done";
    return await unlessForbidden(() => makeBudget(action, deps));
  } catch (error) {
    if (!isOptional(action) || !(error instanceof ClusterError)) throw error;
    return false;
  }
}

type OnBudget = Extract<Action, { verb: "EnsureBudget" | "GrowBudget" }>;

/** A VM that no scan has looked at yet gets its budget now. */
function needsBudget(action: Action): action is OnBudget {
  return action.verb === "EnsureBudget" || (action.verb === "GrowBudget" && action.required);
}

async function makeBudget(action: OnBudget, { cluster }: Acting): Promise<boolean> {
  const { vmi, name } = action;
  const minAvailable = action.verb === "GrowBudget" ? 2 : action.minAvailable;
  await cluster.act({ verb: "CreateBudget", vmi, name, minAvailable });
  // Another function may have made it meanwhile, and made it small.
  return action.verb === "EnsureBudget" || (await cluster.act(action)) === "Done";
}

/**
 * Where Lifeboat may not make a budget (a permission, a quota), which the next scan reports, the answer is given all the
 * same; where that merely did not work this time, it is not.
 */
async function unlessForbidden(make: () => Promise<boolean>): Promise<boolean> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof ClusterError) || !isLasting(error.failure)) throw error;
    return true;
  }
}
