/**
 * What the page of a node shows: what is on it, what has left it, and what a drain of it would come to.
 *
 * What the node has is read each time. Whether other nodes have room needs the pods of all of them: that is looked at seldom.
 */
import { isObjectKey } from "../../shared/cluster/paths.ts";
import { observePodsOf, observePreflight } from "../../shared/pass/observe-preflight.ts";
import type { Observer } from "../../shared/pass/world.ts";
import type { PodVerdict, Preflight, PreflightFacts } from "../../shared/policy/preflight/facts.ts";
import { preflight } from "../../shared/policy/preflight/verdict.ts";
import { type Blocker, blockersOf, type NodeProgress, nodeProgress } from "../../shared/policy/preflight/progress.ts";
import { subjectsOf } from "../../shared/policy/preflight/subjects.ts";
import { RejectionError } from "../rejection.ts";
import type { Target } from "../target.ts";
import type { RecentReads } from "./recent.ts";

/** Without the thousands of pods that it rests on. */
export interface Forecast {
  readonly node: PreflightFacts["node"];
  readonly result: Preflight;
}

export interface NodeView {
  readonly node: PreflightFacts["node"];
  readonly progress: NodeProgress;
  readonly blockers: readonly Blocker[];
  readonly maxAttempts: number;
  /** Of the whole drain, as it was looked at then. */
  readonly preflight: Preflight;
  readonly preflightAt: Date;
}

const READ_SECONDS = 25;
const FORECAST_MAX_AGE_MS = 30_000;
/** As `kubectl drain` is usually asked: scratch space of pods may go, what no controller makes anew may not. */
const FLAGS = { force: false, deleteEmptyDirData: true };

export async function readNode(name: string, target: Target, forecasts: RecentReads<Forecast>): Promise<NodeView> {
  // It becomes part of a selector.
  if (!isObjectKey({ namespace: "", name })) throw new RejectionError("NodeNotFound");
  const cluster = target.connect(READ_SECONDS);
  const { settings } = await target.settings(cluster);
  const observer = { cluster, settings, now: target.platform.now() };
  let whole: PreflightFacts | undefined;
  const read = async (): Promise<Forecast> => {
    whole = await observePreflight(name, FLAGS, observer);
    if (whole === undefined) throw new RejectionError("NodeNotFound");
    return { node: whole.node, result: preflight(whole) };
  };
  const key = `${target.name} ${name}`;
  const { facts: last, readAt } = await forecasts.get({ key, maxAgeMs: FORECAST_MAX_AGE_MS, read }, target.platform);
  const facts = whole ?? (await lookAgain(last.node, observer));
  const subjects = subjectsOf(facts, whole && last.result.pods);
  return {
    node: facts.node,
    progress: nodeProgress(facts, subjects),
    blockers: blockersOf(subjects, roomIn(last.result)),
    maxAttempts: settings.evacuation.maxAttempts,
    preflight: last.result,
    preflightAt: readAt,
  };
}

/** At the node alone: what its VMs do does not depend on the others. */
async function lookAgain(before: PreflightFacts["node"], observer: Observer): Promise<PreflightFacts> {
  const { name } = before;
  const [node, here] = await Promise.all([observer.cluster.getNode(name), observePodsOf(name, FLAGS, observer)]);
  if (node === undefined) throw new RejectionError("NodeNotFound");
  return { ...here, node: { ...before, ...node }, otherNodes: [], otherPods: [], volumes: [], migratingElsewhere: [] };
}

function roomIn({ pods }: Preflight): (pod: PodVerdict) => PodVerdict["room"] {
  const rooms = new Map(pods.map(({ namespace, name, room }) => [`${namespace}/${name}`, room]));
  return ({ namespace, name }) => rooms.get(`${namespace}/${name}`);
}
