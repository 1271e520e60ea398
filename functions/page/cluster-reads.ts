/**
 * What the page of a cluster shows: its Evacuations, its nodes, and what is wrong with Lifeboat in it.
 *
 * Evacuations are read each time; nodes and the number of VMs on each, which are large and change slowly, now and then.
 */
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { ClusterError } from "../../shared/cluster/failure.ts";
import { isActive } from "../../shared/policy/evacuation/phase.ts";
import { isHeldFast } from "../../shared/policy/eviction/eviction-table.ts";
import { type EvacuationFacts, isFinal, keyOf, type NodeFacts, type VmiFacts } from "../../shared/policy/facts.ts";
import { carriesDrainTaint } from "../../shared/policy/kube/taints.ts";
import type { Settings } from "../../shared/policy/settings.ts";
import type { Target } from "../target.ts";
import { type ClusterProblem, clusterProblems } from "./parts/cluster-problems.ts";
import { keyOfVm, type LeftNode, leftNodes } from "./parts/under-way.ts";
import type { RecentReads } from "./recent.ts";

/** Nodes, and how many VMs are on each. */
export interface Census {
  readonly nodes: readonly NodeFacts[];
  /** Of the whole cluster; undefined: the API server does not say. */
  readonly vms: number | undefined;
  /** Undefined: there are too many of them to be read for this. */
  readonly vmsOn: ReadonlyMap<string, number> | undefined;
}

export interface ClusterView {
  readonly evacuations: readonly EvacuationFacts[];
  readonly census: Census;
  readonly leftNodes: readonly LeftNodeView[];
  readonly problems: readonly ClusterProblem[];
  readonly settings: Settings;
}

export interface LeftNodeView extends Omit<LeftNode, "gone"> {
  readonly gone: number;
  /** VMs that are still there, where that was read. */
  readonly staying: number | undefined;
  /** Of these, those that no eviction can move, though the node is to be emptied. */
  readonly heldFast: readonly VmiFacts[];
}

const READ_SECONDS = 10;
const CENSUS_MAX_AGE_MS = 15_000;
/** VMs that are read to be counted: two megabytes for each hundred. */
const MOST_COUNTED = 1000;
/** Nodes whose VMs are read each time. */
const MOST_LEFT_NODES = 8;

export async function readCluster(target: Target, recent: RecentReads<Census>): Promise<ClusterView> {
  const cluster = target.connect(READ_SECONDS);
  const key = target.name;
  const census = { key, maxAgeMs: CENSUS_MAX_AGE_MS, read: () => takeCensus(cluster) };
  const [evacuations, { settings }, configuration, { facts }] = await Promise.all([
    cluster.listEvacuations("All"),
    target.settings(cluster),
    cluster.getConfiguration().catch(unlessItIsNoAnswer),
    recent.get(census, target.platform),
  ]);
  const closed = new Set(facts.nodes.filter((node) => isClosed(node, settings)).map(({ name }) => name));
  const left = withClosed(
    leftNodes(evacuations, (node) => closed.has(node)),
    closed,
    facts,
  );
  const seen: Seen = { closed, settings, active: new Set(evacuations.filter(isActive).map(keyOfVm)) };
  const looked = await Promise.all(
    left.map(async (node, i) => lookAt(node, i < MOST_LEFT_NODES ? await vmisOn(node.name, cluster) : undefined, seen)),
  );
  return {
    evacuations,
    census: { ...facts, vmsOn: facts.vmsOn && counted(facts.vmsOn, looked) },
    leftNodes: looked.filter(({ since, staying = 0 }) => since !== undefined || staying > 0),
    problems: clusterProblems(configuration?.conditions ?? []),
    settings,
  };
}

/**
 * A drain that something blocks may go on for longer than Evacuations are kept: closed nodes with VMs are looked at, too, whether any of
 * them tells of the node or not.
 */
function withClosed(left: readonly LeftNode[], closed: ReadonlySet<string>, { vmsOn }: Census): readonly LeftNode[] {
  const known = new Set(left.map(({ name }) => name));
  const others = [...closed].filter((name) => !known.has(name) && (vmsOn === undefined || vmsOn.has(name)));
  return [
    ...left,
    ...others.map((name) => ({
      name,
      causes: [],
      requestedBy: [],
      since: undefined,
      leaving: 0,
      blocked: 0,
      gone: [],
    })),
  ];
}

/** What has just been read is newer. */
function counted(vmsOn: ReadonlyMap<string, number>, looked: readonly LeftNodeView[]): ReadonlyMap<string, number> {
  const now = looked.flatMap(({ name, staying }) => (staying === undefined ? [] : [[name, staying] as const]));
  return new Map([...vmsOn, ...now]);
}

function isClosed(node: NodeFacts, settings: Settings): boolean {
  return node.unschedulable || carriesDrainTaint(node, settings);
}

async function takeCensus(cluster: Cluster): Promise<Census> {
  const [nodes, vms] = await Promise.all([cluster.listNodes(), cluster.countVmis().catch(unlessItIsNoAnswer)]);
  if (vms === undefined || vms > MOST_COUNTED) return { nodes, vms, vmsOn: undefined };
  const running = (await cluster.listVmis("All")).filter((vmi) => !isFinal(vmi));
  const byNode = Map.groupBy(running, ({ nodeName }) => nodeName ?? "");
  return { nodes, vms, vmsOn: new Map([...byNode].map(([node, there]) => [node, there.length])) };
}

interface Seen {
  /** Nodes. */
  readonly closed: ReadonlySet<string>;
  /** VMs that an Evacuation tells of. */
  readonly active: ReadonlySet<string>;
  readonly settings: Settings;
}

async function vmisOn(node: string, cluster: Cluster): Promise<readonly VmiFacts[] | undefined> {
  return await cluster.listVmis({ node }).catch(unlessItIsNoAnswer);
}

function lookAt(node: LeftNode, vmis: readonly VmiFacts[] | undefined, seen: Seen): LeftNodeView {
  const here = vmis?.filter((vmi) => !isFinal(vmi));
  const keys = new Set(here?.map(keyOf));
  const heldFast = seen.closed.has(node.name) ? (here ?? []).filter((vmi) => isHeldFast(vmi, seen.settings)) : [];
  return {
    ...node,
    // A VM may have come back.
    gone: node.gone.filter((key) => !keys.has(key)).length,
    staying: here?.length,
    heldFast: heldFast.filter((vmi) => !seen.active.has(keyOf(vmi))),
  };
}

/** What cannot be read does not keep the rest from being shown. */
function unlessItIsNoAnswer(error: unknown): undefined {
  if (!(error instanceof ClusterError)) throw error;
}
