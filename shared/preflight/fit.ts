/**
 * Finds the nodes on which a pod fits. Each row of `KEEPS` is one filter of kube-scheduler that depends on pods, nodes
 * or volumes. Upstream: plugins NodeAffinity, VolumeBinding, TaintToleration, InterPodAffinity (exclusions),
 * PodTopologySpread, NodeResourcesFit.
 */
import type { NodeFacts, Taint, Toleration } from "../kube/facts.ts";
import { isFinal, isWanted, matches, matchesTerm, ownValue, untolerated } from "../kube/objects.ts";
import type {
  Labels,
  NodeSelectorTerm,
  NodeRequirements,
  PodTerm,
  Resources,
  ScheduledNode as FitNode,
} from "../kube/scheduled-pod.ts";
import { isCpuMissing } from "./host-cpu.ts";

export type { FitNode };

export interface FitPod {
  /**
   * The pod's requests as kube-scheduler computes them, with containers, init containers, sidecars and overhead. The
   * resource `pods` is not included.
   */
  readonly requests: Resources;
  readonly placement: NodeRequirements;
  readonly tolerations?: readonly Toleration[];
}

/** The free resources of a node. Resources that the node does not have are missing. */
export type Room = ReadonlyMap<string, number>;

export interface Spot {
  readonly node: FitNode;
  /** The free resources of the node. Absent if the pod already runs on this node. */
  readonly room?: Room;
}

/** Further facts that decide whether the pod fits on the node. Lifeboat does not check absent facts. */
export interface Around {
  readonly isRepelled?: Judge | undefined;
  readonly isUneven?: Judge | undefined;
  readonly cpu?: Labels;
  readonly volumes?: readonly { readonly reachedFrom: readonly NodeSelectorTerm[] }[];
}

type Judge = (node: FitNode) => boolean;
type Keeps = (pod: FitPod, spot: Spot, around: Around) => boolean;

/**
 * Each filter returns true if it excludes the node. Lifeboat reports only the first obstacle, so the obstacle that is
 * hardest to remove comes first.
 */
const KEEPS = {
  NodeAffinity: ({ placement }, { node }) => !isWanted(placement, node),
  CPU: (_, { node }, { cpu = {} }) => isCpuMissing(cpu, node),
  // Checks only volumes of bound claims. All claims of a running VM are bound.
  Volumes: (_, { node }, { volumes = [] }) =>
    volumes.some(({ reachedFrom }) => !reachedFrom.some((term) => matchesTerm(term, node))),
  Taints: ({ tolerations }, { node }) => untolerated(taintsOf(node), tolerations) !== undefined,
  PodAntiAffinity: (_, { node }, { isRepelled }) => isRepelled?.(node) === true,
  PodTopologySpread: (_, { node }, { isUneven }) => isUneven?.(node) === true,
  Resources: ({ requests }, { room }) => room !== undefined && (1 > (room.get("pods") ?? 0) || isShort(requests, room)),
} as const satisfies Record<string, Keeps>;

const OBSTACLES = Object.entries<Keeps>(KEEPS);

function isShort(requests: Resources, room: Room): boolean {
  for (const name in requests) if ((requests[name] ?? 0) > Math.max(0, room.get(name) ?? 0)) return true;
  return false;
}

/** Returns the reason why the pod does not fit on the node. Returns undefined if the pod fits. */
export function obstacleTo(pod: FitPod, spot: Spot, around: Around = {}): string | undefined {
  return OBSTACLES.find(([, keeps]) => keeps(pod, spot, around))?.[0];
}

type Requesting = Pick<FitPod, "requests"> & { readonly phase: string };

/** Returns the free resources of a node. Each pod uses one unit of the resource `pods`. */
export function roomOn({ allocatable }: Pick<FitNode, "allocatable">, pods: readonly Requesting[]): Room {
  return pods.reduce(take, new Map(Object.entries(allocatable)));
}

/** Returns the free resources after one more pod. An ended pod uses no resources. */
export function roomWith(room: Room, pod: Requesting): Room {
  return take(new Map(room), pod);
}

function take(room: Map<string, number>, pod: Requesting): Map<string, number> {
  if (isFinal(pod)) return room;
  for (const name in pod.requests) takeOf(room, name, pod.requests[name] ?? 0);
  takeOf(room, "pods", 1);
  return room;
}

function takeOf(room: Map<string, number>, name: string, amount: number): void {
  const left = room.get(name);
  if (left !== undefined) room.set(name, left - amount);
}

/**
 * The taints that belong to conditions of a node. The node lifecycle controller adds each taint a moment after the
 * condition.
 */
const TAINT_OF_PRESSURE: Readonly<Record<string, string>> = {
  MemoryPressure: "node.kubernetes.io/memory-pressure",
  DiskPressure: "node.kubernetes.io/disk-pressure",
  PIDPressure: "node.kubernetes.io/pid-pressure",
};

/**
 * Returns the taints that exclude pods. Includes taints that Kubernetes will soon add because of the node's conditions.
 */
export function taintsOf(node: NodeFacts): readonly Taint[] {
  const known = TAINTS.get(node);
  if (known !== undefined) return known;
  const taints = allTaintsOf(node);
  TAINTS.set(node, taints);
  return taints;
}

/** Caches taints, because a plan needs the taints of nodes a million times. */
const TAINTS = new WeakMap<NodeFacts, readonly Taint[]>();

function allTaintsOf({ taints, unschedulable, ready, pressures }: NodeFacts): readonly Taint[] {
  const keys = [
    ...(unschedulable ? ["node.kubernetes.io/unschedulable"] : []),
    ...(ready ? [] : ["node.kubernetes.io/not-ready"]),
    ...pressures.flatMap((type) => TAINT_OF_PRESSURE[type] ?? []),
  ];
  return [
    ...keys.map((key) => ({ key, effect: "NoSchedule" })),
    ...taints.filter(({ effect }) => effect !== "PreferNoSchedule"),
  ];
}

export interface Neighbour {
  readonly namespace: string;
  readonly nodeName: string;
  readonly labels: Labels;
  /** Only the required terms. */
  readonly antiAffinity: readonly PodTerm[];
}

type WithTerms = Omit<Neighbour, "nodeName">;

/**
 * Returns a function that checks whether anti-affinity keeps the pod off a node. `there` contains all pods that have
 * not ended, and `labelsOf` contains the labels of their nodes.
 */
export function repelling(
  pod: WithTerms,
  there: readonly Neighbour[],
  labelsOf: ReadonlyMap<string, Labels>,
): Judge | undefined {
  const unwanted = new Map<string, Set<string>>();
  for (const other of there) {
    const terms = [
      ...pod.antiAffinity.filter((term) => selects(term, pod, other)),
      ...other.antiAffinity.filter((term) => selects(term, other, pod)),
    ];
    for (const { topologyKey } of terms) {
      const value = ownValue(labelsOf.get(other.nodeName) ?? {}, topologyKey);
      if (value !== undefined) unwanted.set(topologyKey, (unwanted.get(topologyKey) ?? new Set()).add(value));
    }
  }
  if (unwanted.size === 0) return undefined;
  const domains = [...unwanted];
  return ({ labels }) => domains.some(([key, values]) => values.has(ownValue(labels, key) ?? ""));
}

type Named = Pick<Neighbour, "namespace" | "labels">;

/** Returns true if a term of the pod `owner` matches the other pod. Does not check the topology domain. */
export function selects({ namespaces, allNamespaces, selector }: PodTerm, owner: Named, other: Named): boolean {
  const isThere = namespaces.length === 0 ? other.namespace === owner.namespace : namespaces.includes(other.namespace);
  return (allNamespaces === true || isThere) && matches(selector, other.labels);
}
