/**
 * Finds the nodes on which a pod fits. One row stands for each kube-scheduler filter that depends on pods, nodes and
 * volumes. Upstream: plugins NodeAffinity, VolumeBinding, TaintToleration, InterPodAffinity (exclusions),
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
   * The pod's requests as the scheduler counts them: containers, init containers, sidecars, overhead. The resource
   * `pods` is not included.
   */
  readonly requests: Resources;
  readonly placement: NodeRequirements;
  readonly tolerations?: readonly Toleration[];
}

/** Resources that a node has left. A resource that the node does not have is absent. */
export type Room = ReadonlyMap<string, number>;

export interface Spot {
  readonly node: FitNode;
  /** The room on the node. Absent: the pod is on this node already. */
  readonly room?: Room;
}

/** Facts besides the pod and the node that decide whether the pod fits. An absent fact is not checked. */
export interface Around {
  readonly isRepelled?: Judge | undefined;
  readonly isUneven?: Judge | undefined;
  /** CPU labels that the node must have. */
  readonly cpu?: Labels;
  /** Volumes of the pod that only some nodes reach. */
  readonly volumes?: readonly { readonly reachedFrom: readonly NodeSelectorTerm[] }[];
}

type Judge = (node: FitNode) => boolean;
type Keeps = (pod: FitPod, spot: Spot, around: Around) => boolean;

/** The filters in their order: obstacles that are hardest to change come first. */
const KEEPS = {
  NodeAffinity: ({ placement }, { node }) => !isWanted(placement, node),
  CPU: (_, { node }, { cpu = {} }) => isCpuMissing(cpu, node),
  // Volumes of bound claims. All claims of a running VM are bound.
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

/** Returns the first obstacle to the pod on the node. Returns undefined if the pod fits. */
export function obstacleTo(pod: FitPod, spot: Spot, around: Around = {}): string | undefined {
  return OBSTACLES.find(([, keeps]) => keeps(pod, spot, around))?.[0];
}

type Requesting = Pick<FitPod, "requests"> & { readonly phase: string };

/** Returns the room on a node. Each pod takes one unit of the resource `pods`. */
export function roomOn({ allocatable }: Pick<FitNode, "allocatable">, pods: readonly Requesting[]): Room {
  return pods.reduce(take, new Map(Object.entries(allocatable)));
}

/** Returns the room after one more pod. An ended pod takes nothing. */
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

/** Taints for a node's conditions. The node lifecycle controller adds each taint moments after its condition. */
const TAINT_OF_PRESSURE: Readonly<Record<string, string>> = {
  MemoryPressure: "node.kubernetes.io/memory-pressure",
  DiskPressure: "node.kubernetes.io/disk-pressure",
  PIDPressure: "node.kubernetes.io/pid-pressure",
};

/** Returns the taints that exclude pods, including taints that the node's conditions will cause within moments. */
export function taintsOf(node: NodeFacts): readonly Taint[] {
  const known = TAINTS.get(node);
  if (known !== undefined) return known;
  const taints = allTaintsOf(node);
  TAINTS.set(node, taints);
  return taints;
}

/** A cache, because a plan asks for the taints of a node a million times. */
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

/** A pod that is bound to a node. */
export interface Neighbour {
  readonly namespace: string;
  readonly nodeName: string;
  readonly labels: Labels;
  /** Required terms. */
  readonly antiAffinity: readonly PodTerm[];
}

type WithTerms = Omit<Neighbour, "nodeName">;

/**
 * Returns a test for nodes that anti-affinity excludes for the pod. `there`: pods that have not ended. `labelsOf`: the
 * labels of their nodes.
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

/** Returns whether a term of `owner` selects the other pod, in any domain. */
export function selects({ namespaces, allNamespaces, selector }: PodTerm, owner: Named, other: Named): boolean {
  const isThere = namespaces.length === 0 ? other.namespace === owner.namespace : namespaces.includes(other.namespace);
  return (allNamespaces === true || isThere) && matches(selector, other.labels);
}
