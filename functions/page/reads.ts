/**
 * What the pages of a cluster, a node and a VM read. What happens is read each time; what is large and changes slowly is kept from the
 * reading before.
 */
import { type Client, named } from "../../shared/kube/client.ts";
import { ClusterError } from "../../shared/kube/failures.ts";
import { CONFIGURATION, CREATED_BY_LABEL } from "../../shared/kube/names.ts";
import { observePodsOf, observePreflight } from "../../shared/preflight/observe.ts";
import { guestPodUID } from "../../shared/evacuation/identity.ts";
import { decideEviction, type EvictionDecision } from "../../shared/eviction/decide.ts";
import type { MigrationFacts, NamespacedName, NodeFacts, PodFacts, VmiFacts } from "../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../shared/kube/evacuation.ts";
import type { PodVerdict, Preflight, PreflightFacts } from "../../shared/preflight/facts.ts";
import { preflight } from "../../shared/preflight/verdict.ts";
import { type Blocker, blockersOf, type NodeProgress, nodeProgress } from "../../shared/preflight/progress.ts";
import { subjectsOf } from "../../shared/preflight/subjects.ts";
import type { Settings } from "../../shared/settings/settings.ts";
import { RejectionError } from "../errors.ts";
import type { Target } from "../target.ts";
import type { Recent } from "./stream.ts";
import { type Problem, problemsOf } from "./words.ts";
import { isObjectKey } from "../../shared/kube/read.ts";
import { evacuationsOf, migrationsOf } from "../../shared/kube/requests.ts";
import { isHeldFast, isToMove } from "../../shared/settings/strategy.ts";
import { isFinal } from "../../shared/kube/objects.ts";
import type { Observer } from "../../shared/settings/load-settings.ts";

const READ_SECONDS = 10;

/** What cannot be read does not keep the rest from being shown. */
export function unlessUnreadable(error: unknown): undefined {
  if (!(error instanceof ClusterError)) throw error;
}

export async function problemsIn(cluster: Client): Promise<readonly Problem[]> {
  const configuration = await cluster.get("lifeboatconfigurations", named(CONFIGURATION)).catch(unlessUnreadable);
  return problemsOf(configuration?.conditions ?? []);
}

export interface VmsOfNode {
  readonly vms: readonly Pick<VmiFacts, "namespace" | "name" | "nodeName">[];
  /** Of these: those that no eviction can move until a person changes something, and those that an eviction shuts down. */
  readonly blocked: number;
  readonly shutDown: number;
}

interface Census {
  readonly takenAt: Date;
  readonly nodes: readonly NodeFacts[];
  /** Of the whole cluster; undefined: the API server does not say. */
  readonly vms: number | undefined;
  /** Empty where there are too many VMs to be read for this. */
  readonly vmsOn: ReadonlyMap<string, VmsOfNode>;
  readonly areAllRead: boolean;
}

export interface ClusterView {
  readonly evacuations: readonly EvacuationFacts[];
  readonly census: Census;
  readonly problems: readonly Problem[];
  readonly settings: Settings;
}

const CENSUS_MAX_AGE_MS = 15_000;
/** VMs that are read to be counted: two megabytes for each hundred. */
const MOST_COUNTED = 1000;

export async function readCluster(target: Target, last: Recent<ClusterView> | undefined): Promise<ClusterView> {
  const cluster = target.connect(READ_SECONDS);
  const now = target.platform.now();
  const { settings } = await target.settings(cluster);
  const known = last?.facts.census;
  const isNew = known !== undefined && now.getTime() - known.takenAt.getTime() <= CENSUS_MAX_AGE_MS;
  const [evacuations, problems, census] = await Promise.all([
    cluster.list("evacuations"),
    problemsIn(cluster),
    isNew ? known : takeCensus(cluster, settings, now),
  ]);
  return { evacuations, census, problems, settings };
}

async function takeCensus(cluster: Client, settings: Settings, takenAt: Date): Promise<Census> {
  const [nodes, vms] = await Promise.all([
    cluster.list("nodes"),
    cluster.count("virtualmachineinstances").catch(unlessUnreadable),
  ]);
  const isRead = vms !== undefined && vms <= MOST_COUNTED;
  const listed = isRead ? await cluster.list("virtualmachineinstances").catch(unlessUnreadable) : undefined;
  const byNode = Map.groupBy(listed ?? [], ({ nodeName }) => nodeName ?? "");
  const vmsOn = new Map([...byNode].map(([node, there]) => [node, countedOn(there, settings)]));
  return { takenAt, nodes, vms, vmsOn, areAllRead: listed !== undefined };
}

function countedOn(vmis: readonly VmiFacts[], settings: Settings): VmsOfNode {
  const running = vmis.filter((vmi) => !isFinal(vmi));
  const blocked = running.filter((vmi) => isHeldFast(vmi, settings)).length;
  const moving = running.filter((vmi) => isToMove(vmi, settings)).length;
  const vms = running.map(({ namespace, name, nodeName }) => ({ namespace, name, ...(nodeName && { nodeName }) }));
  return { vms, blocked, shutDown: running.length - blocked - moving };
}

export interface NodeView {
  readonly node: PreflightFacts["node"];
  readonly progress: NodeProgress;
  readonly blockers: readonly Blocker[];
  readonly settings: Settings;
  /** Of the whole drain, as it was looked at then: without the thousands of pods that it rests on. */
  readonly preflight: Preflight;
  readonly preflightAt: Date;
}

const NODE_SECONDS = 25;
/** Whether other nodes have room needs the pods of all of them. */
const PREFLIGHT_MAX_AGE_MS = 30_000;
/** As `kubectl drain` is usually asked: scratch space of pods may go, what no controller makes anew may not. */
const FLAGS = { force: false, deleteEmptyDirData: true };

export async function readNode(name: string, target: Target, last: Recent<NodeView> | undefined): Promise<NodeView> {
  // It becomes part of a selector.
  if (!isObjectKey({ namespace: "", name })) throw new RejectionError("NodeNotFound");
  const cluster = target.connect(NODE_SECONDS);
  const { settings } = await target.settings(cluster);
  const now = target.platform.now();
  const known = last?.facts;
  const isNew = known !== undefined && now.getTime() - known.preflightAt.getTime() <= PREFLIGHT_MAX_AGE_MS;
  const observer = { cluster, settings, now };
  const facts = isNew ? await observeAgain(known.node, observer) : await observePreflight(name, FLAGS, observer);
  if (facts === undefined) throw new RejectionError("NodeNotFound");
  const judged = isNew
    ? { preflight: known.preflight, preflightAt: known.preflightAt }
    : { preflight: preflight(facts), preflightAt: now };
  const subjects = isNew ? subjectsOf(facts) : subjectsOf(facts, judged.preflight.pods);
  const blockers = blockersOf(subjects, roomIn(judged.preflight));
  return { node: facts.node, progress: nodeProgress(facts, subjects), blockers, settings, ...judged };
}

/** The node alone: what its VMs do does not depend on the others. */
async function observeAgain(before: PreflightFacts["node"], observer: Observer): Promise<PreflightFacts | undefined> {
  const { name } = before;
  const [node, here] = await Promise.all([
    observer.cluster.get("nodes", named(name)),
    observePodsOf(name, FLAGS, observer),
  ]);
  if (node === undefined) return undefined;
  return { ...here, node: { ...before, ...node }, otherNodes: [], otherPods: [], volumes: [], migratingElsewhere: [] };
}

function roomIn({ pods }: Preflight): (pod: PodVerdict) => PodVerdict["room"] {
  const rooms = new Map(pods.map(({ namespace, name, room }) => [`${namespace}/${name}`, room]));
  return ({ namespace, name }) => rooms.get(`${namespace}/${name}`);
}

export interface VmView {
  readonly key: NamespacedName;
  /** Absent: it no longer runs. */
  readonly vmi?: VmiFacts;
  /** That the guest runs in. */
  readonly pod?: PodFacts;
  readonly evacuations: readonly EvacuationFacts[];
  /** Undefined: they may not be read. */
  readonly migrations: readonly MigrationFacts[] | undefined;
  /** What an eviction of the pod would get now. */
  readonly decision?: EvictionDecision;
  readonly settings: Settings;
}

const REQUEST = { username: "explain", cause: "ApiEviction" } as const;

export async function readVm(key: NamespacedName, target: Target): Promise<VmView> {
  const cluster = target.connect(READ_SECONDS);
  const [vmi, evacuations, migrations, { settings }] = await Promise.all([
    cluster.get("virtualmachineinstances", key),
    evacuationsOf(key, cluster),
    migrationsOf([key], cluster).catch(unlessUnreadable),
    target.settings(cluster),
  ]);
  const past = { key, evacuations, migrations, settings };
  if (vmi === undefined) {
    if (evacuations.length === 0 && (migrations ?? []).length === 0) throw new RejectionError("VmNotFound");
    return past;
  }
  const uid = guestPodUID(vmi);
  const own = { namespace: vmi.namespace, labels: { [CREATED_BY_LABEL]: vmi.uid } };
  const pod = (await cluster.list("pods", own)).find((one) => one.uid === uid);
  if (pod === undefined) return { ...past, vmi };
  const facts = { pod, vmi, evacuations, settings, now: target.platform.now(), request: REQUEST };
  return { ...past, vmi, pod, decision: decideEviction({ ...facts, migrations: migrations ?? [] }) };
}
