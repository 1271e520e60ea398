/**
 * Reconciles NodeEvacuations. Each pass reads the facts, finds the first rule that applies, and performs the rule's
 * actions.
 */
import type { Action } from "../kube/action.ts";
import type { Client } from "../kube/client.ts";
import { decide, type Beforehand } from "../facts/decide.ts";
import type { Facts, Question } from "../facts/facts.ts";
import { liveReads } from "../facts/reads.ts";
import { ClusterError, describeFailure, isForbidden, isOddObject } from "../kube/failures.ts";
import type { NamespacedName } from "../kube/facts.ts";
import { hasEnded, type NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { named } from "../kube/objects.ts";
import { asPartOf } from "../kube/rolling-maintenance.ts";
import { selectEvacuationsFor } from "../kube/selections.ts";
import { eachOf } from "../act/each-of.ts";
import { perform, type Performed } from "../act/perform.ts";
import type { Settings } from "../settings/settings.ts";
import { refusedEviction, withTimes } from "./blockers.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { nextOfNode } from "./rules.ts";
import { nodeEvents } from "./rolling/events.ts";
import { nodeStatusAfter } from "./status.ts";
import { hasStarted, type NodeNext } from "./world.ts";

export interface Maintaining {
  readonly cluster: Client;
  readonly settings: Settings;
  readonly clock: () => Date;
  readonly onFailure: (doing: string, failure: ClusterError) => void;
  /** Selects the NodeEvacuations to reconcile. */
  readonly isConcerned: (ne: NodeEvacuationFacts, all: readonly NodeEvacuationFacts[]) => boolean;
  /** True in the reconcile that runs once a minute and in a full scan. False in all others, such as after an event. */
  readonly isThorough: boolean;
}

export interface Maintained {
  readonly done: readonly Action["verb"][];
  readonly failures: number;
  /** The VMs whose Evacuations were created or withdrawn. */
  readonly vmis: readonly NamespacedName[];
  /** Whether the next reconcile must follow within seconds. */
  readonly isUnderWay: boolean;
  /** Whether the NodeEvacuation is part of a RollingMaintenance. */
  readonly isPart: boolean;
}

/** The maximum number of passes. Each pass uses the results of the previous pass, such as a cordon. */
const MOST_PASSES = 4;

/**
 * Reconciles NodeEvacuations. A failure on one node does not affect other nodes. Throws a ClusterError only if the
 * NodeEvacuations or the RollingMaintenances cannot be listed.
 */
export async function reconcileNodeEvacuations(deps: Maintaining): Promise<readonly Maintained[]> {
  const all = await listAll(deps.cluster);
  const concerned = all.filter((ne) => deps.isConcerned(ne, all));
  const { results } = await eachOf(concerned, (ne) => reconcileOne(ne, all, deps));
  return results;
}

/** Lists the NodeEvacuations. A NodeEvacuation inherits the pause and the withdrawal of its RollingMaintenance. */
async function listAll(cluster: Client): Promise<readonly NodeEvacuationFacts[]> {
  const all = await cluster.list("nodeevacuations");
  if (all.every((ne) => ne.owner === undefined || hasEnded(ne))) return all;
  const odd: string[] = [];
  const items = await cluster.list("rollingmaintenances", { onOdd: (issue) => void odd.push(issue) });
  return all.map((ne) => asPartOf(ne, { items, odd }));
}

async function reconcileOne(
  first: NodeEvacuationFacts,
  others: readonly NodeEvacuationFacts[],
  deps: Maintaining,
): Promise<Maintained> {
  const passes: Examined[] = [];
  let [ne, all]: [NodeEvacuationFacts | undefined, readonly NodeEvacuationFacts[]] = [first, others];
  for (let i = 0; i < MOST_PASSES && ne !== undefined; i++) {
    const examined = await examine(ne, all, deps);
    passes.push(examined);
    if (!examined.isAgain) break;
    all = await listAll(deps.cluster);
    ne = all.find(({ uid }) => uid === first.uid);
  }
  return {
    done: passes.flatMap(({ done }) => done),
    failures: passes.reduce((sum, { failures }) => sum + failures, 0),
    vmis: passes.flatMap(({ vmis }) => vmis),
    isUnderWay: passes.at(-1)?.isUnderWay === true,
    isPart: first.owner !== undefined,
  };
}

type Examined = Omit<Maintained, "isPart"> & { readonly isAgain: boolean };

async function examine(
  ne: NodeEvacuationFacts,
  all: readonly NodeEvacuationFacts[],
  deps: Maintaining,
): Promise<Examined> {
  const { cluster, settings, clock, onFailure, isThorough } = deps;
  const now = clock();
  try {
    const rule = (facts: Facts) => nextOfNode({ ne, facts, settings, now, isThorough });
    const next = (await decide(rule, liveReads(cluster), beforehand(ne, all))).answer;
    return next === "Nothing" ? NOTHING : await act(ne, next, deps);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure(`reconciling NodeEvacuation ${ne.name}`, error);
    const said = saidOf(ne, error);
    const written = said && (await say(ne, said, deps));
    return { ...NOTHING, done: written?.done ?? [], failures: 1 };
  }
}

/** Returns the facts that each pass reads first. */
function beforehand(ne: NodeEvacuationFacts, all: readonly NodeEvacuationFacts[]): Beforehand {
  const node: Question = { kind: "nodes", key: named(ne.spec.nodeName) };
  const own: Question = { kind: "evacuations", selection: selectEvacuationsFor(ne.name) };
  return { known: [[EVERY_NODE_EVACUATION, { value: all }]], first: hasStarted(ne) ? [node, own] : [node] };
}

const EVERY_NODE_EVACUATION: Question = { kind: "nodeevacuations", selection: {} };

const NOTHING: Examined = { done: [], failures: 0, vmis: [], isUnderWay: false, isAgain: false };

/**
 * Performs all actions of a step, and then writes the status. If a permission is missing, the status names the refused
 * request. If anything else prevents an action of `first`, Lifeboat does not write the status.
 */
async function act(ne: NodeEvacuationFacts, next: NodeNext, deps: Maintaining): Promise<Examined> {
  const { chains = [], first = [] } = next;
  const acted = await eachOf(chains, async (chain) => ({ chain, ...(await perform(chain, performingOf(deps))) }));
  const before = await eachOf(first, (action) => perform([action], performingOf(deps)));
  const results = [...acted.results, ...before.results];
  const denied = deniedIn(results);
  const undone = denied === undefined ? before.results.find(({ outcome }) => outcome !== "Done") : undefined;
  const said = denied ? lacking(ne, denied) : { ...next, more: withRefusals(ne, next, acted.results, deps.clock()) };
  const ended = undone ?? (await say(ne, said, deps));
  const performed = [...new Set([...results, ended])];
  const isDone = ended.outcome === "Done" && next.again === true;
  return {
    done: performed.flatMap(({ done }) => done),
    failures: performed.filter(({ failure }) => failure !== undefined).length,
    vmis: [...chains.flat(), ...first].flatMap(concernedBy),
    isUnderWay: isToBeFollowed(ne, next),
    isAgain: denied === undefined && (ended.outcome === "Conflict" || isDone),
  };
}

/**
 * Returns whether to reconcile the NodeEvacuation again soon. This includes paused and blocked drains, because Lifeboat
 * might have no watch that reports when a person resumes the drain or removes the blocker.
 */
function isToBeFollowed(ne: NodeEvacuationFacts, { phase }: NodeNext): boolean {
  return phase === "Evacuating" || ((phase === "Paused" || phase === "Blocked") && hasStarted(ne));
}

function withRefusals(
  ne: NodeEvacuationFacts,
  { more = {} }: NodeNext,
  performed: readonly (Performed & { readonly chain: readonly Action[] })[],
  now: Date,
): NonNullable<NodeNext["more"]> {
  const refused = performed.flatMap(({ chain, outcome }) => {
    const eviction = chain.find((action) => action.verb === "EvictPod");
    return eviction !== undefined && outcome === "Refused" ? [eviction.pod] : [];
  });
  const { blockers = [] } = more;
  const known = new Set(blockers.map(({ uid }) => uid));
  const fresh = refused.filter(({ uid }) => !known.has(uid)).map((pod) => refusedEviction(pod, ne));
  return fresh.length === 0 ? more : { ...more, blockers: withTimes([...blockers, ...fresh], { ne, now }) };
}

function deniedIn(performed: readonly Performed[]): ClusterError | undefined {
  return performed.find(({ failure }) => isForbidden(failure))?.failure;
}

async function say(
  ne: NodeEvacuationFacts,
  next: Pick<NodeNext, "phase" | "message" | "more">,
  deps: Maintaining,
): Promise<Performed> {
  const status = nodeStatusAfter(ne, next, deps.clock());
  if (status === undefined) return await perform([], performingOf(deps));
  const write = { verb: "WriteNodeStatus", nodeEvacuation: ne, status } as const;
  return await perform([write, ...nodeEvents(ne, next)], performingOf(deps));
}

function performingOf({ cluster, clock, onFailure }: Maintaining) {
  return { cluster, now: clock, onFailure };
}

/**
 * Returns the phase and the message for an error that lasts until a person acts. Returns undefined for other errors.
 */
function saidOf(ne: NodeEvacuationFacts, error: ClusterError): Pick<NodeNext, "phase" | "message"> | undefined {
  if (isForbidden(error)) return lacking(ne, error);
  if (!isOddObject(error.failure) || hasEnded(ne)) return undefined;
  return { phase: hasStarted(ne) ? "Blocked" : "Scheduled", message: describeFailure(error.failure) };
}

function lacking(ne: NodeEvacuationFacts, { failure }: ClusterError): Pick<NodeNext, "phase" | "message"> {
  const what = failure.reason === "Refused" ? failure.request : "";
  return { phase: hasStarted(ne) ? "Blocked" : "Scheduled", message: MESSAGES.lacksPermission(what) };
}

function concernedBy(action: Action): readonly NamespacedName[] {
  if (action.verb !== "CreateEvacuation" && action.verb !== "WithdrawEvacuation") return [];
  const { namespace, spec } = action.evacuation;
  return [{ namespace, name: spec.vmiName }];
}
