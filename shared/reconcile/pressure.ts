/**
 * Reads the facts about node pressure: nodes under pressure, their VMs, and other nodes with free resources. Reads the
 * nodes one after another, because the pods of ten nodes might not fit into the memory of a Cloudflare Worker.
 */
import { type Client, named } from "../kube/client.ts";
import { ClusterError } from "../kube/failures.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { type FitNode, roomOn } from "../preflight/fit.ts";
import { canTake, type PressureWorld, type VmOnNode, type CandidateNode } from "../pressure/pressure.ts";
import { NodeWithResources } from "../kube/schemas/scheduled-pod.ts";
import { renderTarget } from "../preflight/next-pod.ts";
import { preflightPodSchema } from "../preflight/preflight-pod.ts";
import type { ReconcileRequest } from "./carry-out.ts";
import { readEvacuationsFrom, LAUNCHER, readVmisOn } from "../kube/requests.ts";
import { isLauncher, keyOf, vmiNameOf } from "../kube/objects.ts";
import { pressure } from "../pressure/feature.ts";
import { isFeatureOn } from "../settings/feature.ts";
import type { Observer } from "../settings/load-settings.ts";

export interface SignalsAsked {
  readonly requests: readonly ReconcileRequest[];
  readonly pods: readonly PodFacts[];
  readonly vmis: readonly VmiFacts[];
  readonly evacuations: readonly EvacuationFacts[];
}

interface Seen extends SignalsAsked {
  readonly nodes: readonly NodeFacts[];
}

export type Pressure = Pick<PressureWorld, "pressured" | "candidateNodes" | "signals">;

/**
 * The maximum number of nodes that Lifeboat checks as targets. Lifeboat checks the nodes with the most memory first. If
 * a VM fits on none of them, the VM probably fits on no other node.
 */
const MOST_CANDIDATES = 10;

export async function readPressure(seen: Seen, { cluster, settings }: Observer): Promise<Pressure> {
  if (!isFeatureOn(pressure, settings)) return { pressured: [], candidateNodes: [], signals: [] };
  const nodes = new Map((await nodesConcerned(seen, cluster)).map((node) => [node.name, node]));
  const signals = signalsOf(seen, nodes);
  const pressing = [...nodes.values()].filter((node) => node.pressures.length > 0);
  if (pressing.length === 0) return { pressured: [], candidateNodes: [], signals };
  const populations: Population[] = [];
  const candidateNodes: CandidateNode[] = [];
  for (const node of pressing) populations.push(await populationOf(node, cluster));
  const isAny = populations.some(({ vmsOnNode }) => vmsOnNode.length > 0);
  const all = isAny ? await cluster.list("nodes", { as: NodeWithResources }) : [];
  const labelsOf = new Map(all.map(({ name, labels }) => [name, labels]));
  const pressured = populations.map((one) => ({ ...one, labels: labelsOf.get(one.node.name) ?? {} }));
  const targets = pressured.flatMap(({ node: { name }, labels, vmsOnNode }) =>
    vmsOnNode.map(({ vmi, pod }) => renderTarget(pod, vmi, { name, labels }, settings)),
  );
  const candidates = all.filter((node) => targets.some((target) => canTake({ node }, target)));
  for (const node of candidates.toSorted(largestFirst).slice(0, MOST_CANDIDATES)) {
    candidateNodes.push(...(await candidateNodesOf(node, cluster)));
  }
  return { pressured, signals, candidateNodes };
}

function largestFirst(a: FitNode, b: FitNode): number {
  return (b.allocatable["memory"] ?? 0) - (a.allocatable["memory"] ?? 0);
}

async function nodesConcerned(seen: Seen, cluster: Client): Promise<readonly NodeFacts[]> {
  const { nodes, evacuations } = seen;
  const known = new Set(nodes.map((node) => node.name));
  const leaving = evacuations.filter((e) => isActive(e) && e.spec.cause === "NodePressure");
  const concerned = [
    ...leaving.flatMap((e) => e.status.sourceNode ?? []),
    ...endingPods(seen).flatMap(({ pod }) => pod.nodeName ?? []),
  ];
  const missing = concerned.filter((name) => !known.has(name));
  return [...nodes, ...(await readNodes(missing, cluster))];
}

export async function readNodes(
  names: readonly (string | undefined)[],
  cluster: Client,
): Promise<readonly NodeFacts[]> {
  const distinct = [...new Set(names)].filter((name) => name !== undefined);
  const read = await Promise.all(distinct.map((name) => cluster.get("nodes", named(name))));
  return read.filter((node) => node !== undefined);
}

type Population = Omit<Pressure["pressured"][number], "labels">;

async function populationOf(node: NodeFacts, cluster: Client): Promise<Population> {
  const [pods, here, evacuations] = await Promise.all([
    cluster.list("pods", { labels: LAUNCHER, fields: { "spec.nodeName": node.name }, as: preflightPodSchema() }),
    readVmisOn(node.name, cluster),
    readEvacuationsFrom(node.name, cluster),
  ]);
  return { node, vmsOnNode: pairsOf(pods.filter(isLauncher), here), evacuations };
}

function pairsOf(launchers: readonly VmOnNode["pod"][], vmis: readonly VmiFacts[]): readonly VmOnNode[] {
  const byKey = new Map(vmis.map((vmi) => [keyOf(vmi), vmi]));
  return launchers.flatMap((pod) => {
    const vmi = byKey.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" }));
    return vmi === undefined ? [] : [{ vmi, pod }];
  });
}

const PODS_MS = 5000;

/**
 * Reads the pods of a node to which VMs could move. Returns an empty list if the read takes too long, for example
 * because a tenant's pods are large.
 */
async function candidateNodesOf(node: FitNode, cluster: Client): Promise<readonly CandidateNode[]> {
  try {
    const fields = { "spec.nodeName": node.name };
    const pods = await cluster.list("pods", { fields, as: preflightPodSchema(), withinMs: PODS_MS });
    return [{ node, room: roomOn(node, pods) }];
  } catch (error) {
    if (!(error instanceof ClusterError) || error.failure.reason !== "DeadlineExceeded") throw error;
    return [];
  }
}

function endingPods({ requests, pods }: SignalsAsked) {
  return requests.flatMap((request) => {
    const pod = request.kind === "EndingPod" ? pods.find((one) => keyOf(one) === keyOf(request)) : undefined;
    return request.kind !== "EndingPod" || pod === undefined ? [] : [{ pod, reason: request.by }];
  });
}

/**
 * Returns the VMs whose launcher pods a kubelet is ending, as events show. The status of a pod shows the kubelet's
 * decision only after the containers have ended.
 */
function signalsOf(seen: Seen, nodes: ReadonlyMap<string, NodeFacts>): Pressure["signals"] {
  const vmiOf = new Map(seen.vmis.map((vmi) => [keyOf(vmi), vmi]));
  return endingPods(seen).flatMap(({ pod, reason }) => {
    const vmi = vmiOf.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" }));
    if (vmi === undefined || pod.deleting || !isLauncher(pod)) return [];
    return [{ vmi, pod, reason, node: nodes.get(pod.nodeName ?? "") }];
  });
}
