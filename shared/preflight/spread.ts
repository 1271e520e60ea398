/**
 * Evaluates topology spread constraints. They exclude nodes, and prefer nodes with few similar pods. Upstream: plugin
 * PodTopologySpread (filtering.go, scoring.go), and its default constraints.
 */
import type { Toleration } from "../kube/facts.ts";
import { isWanted, matches, ownValue, untolerated } from "../kube/objects.ts";
import type { Labels, NodeRequirements, SpreadConstraint, PlacementTerms } from "../kube/scheduled-pod.ts";
import { type Board, podsAmong, podsLike } from "./board.ts";
import type { NeighbourPod } from "./facts.ts";
import { type FitNode, taintsOf } from "./fit.ts";
import { isCpuMissing } from "./host-cpu.ts";

export interface SpreadPod {
  readonly namespace: string;
  readonly labels: Labels;
  readonly placement: NodeRequirements;
  readonly tolerations?: readonly Toleration[];
  readonly placementTerms?: PlacementTerms;
  readonly replicaSet?: string;
}

interface Around {
  readonly nodes: readonly FitNode[];
  readonly board: Board;
  readonly cpu?: Labels | undefined;
}

/**
 * Returns a function that checks whether a node would have too many similar pods. Returns undefined if the pod's
 * constraints exclude no nodes.
 */
export function unevenness(pod: SpreadPod, around: Around): ((node: FitNode) => boolean) | undefined {
  const strict = pod.placementTerms?.spread.filter(isStrict) ?? [];
  if (strict.length === 0) return undefined;
  const keys = strict.map(({ topologyKey }) => topologyKey);
  const rules = strict.map((constraint) => allowedBy(constraint, pod, keys, around));
  return ({ labels }) => rules.some((isAllowed) => !isAllowed(labels));
}

function isStrict({ whenUnsatisfiable }: SpreadConstraint): boolean {
  return whenUnsatisfiable === "DoNotSchedule";
}

function allowedBy(constraint: SpreadConstraint, pod: SpreadPod, keys: readonly string[], around: Around) {
  const { topologyKey, minDomains = 1, maxSkew } = constraint;
  const counted = around.nodes.filter(
    (node) =>
      keys.every((key) => ownValue(node.labels, key) !== undefined) && isCounted(constraint, pod, node, around.cpu),
  );
  const domainOf = new Map(counted.map(({ name, labels }) => [name, ownValue(labels, topologyKey) ?? ""]));
  const sizes = new Map([...domainOf.values()].map((domain) => [domain, 0]));
  for (const other of podsLike(around.board, constraint.selector)) {
    const domain = domainOf.get(other.nodeName);
    if (domain === undefined || !isLike(constraint, pod, other)) continue;
    sizes.set(domain, (sizes.get(domain) ?? 0) + 1);
  }
  const least = sizes.size < minDomains ? 0 : Math.min(...sizes.values());
  const itself = matches(constraint.selector, pod.labels) ? 1 : 0;
  return (labels: Labels) => {
    const domain = ownValue(labels, topologyKey);
    return domain !== undefined && (sizes.get(domain) ?? 0) + itself - least <= maxSkew;
  };
}

function isCounted(
  { nodeAffinityPolicy, nodeTaintsPolicy }: SpreadConstraint,
  { placement, tolerations }: SpreadPod,
  node: FitNode,
  cpu: Labels = {},
): boolean {
  if (nodeAffinityPolicy !== "Ignore" && (!isWanted(placement, node) || isCpuMissing(cpu, node))) return false;
  return nodeTaintsPolicy !== "Honor" || untolerated(taintsOf(node), tolerations) === undefined;
}

/** Returns true if the constraint includes the other pod. Terminating pods are never included. */
function isLike({ selector, matchLabelKeys }: SpreadConstraint, pod: SpreadPod, other: NeighbourPod): boolean {
  if (other.namespace !== pod.namespace || other.deleting || !matches(selector, other.labels)) return false;
  return matchLabelKeys.every((key) => {
    const own = ownValue(pod.labels, key);
    return own === undefined || own === ownValue(other.labels, key);
  });
}

const HOSTNAME = "kubernetes.io/hostname";

/** kube-scheduler uses these default constraints for pods of a ReplicaSet that have no constraints of their own. */
const DEFAULTS = [
  { topologyKey: HOSTNAME, maxSkew: 3 },
  { topologyKey: "topology.kubernetes.io/zone", maxSkew: 5 },
] as const;

export interface Crowd {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly like: readonly NeighbourPod[];
}

/**
 * Returns the pod's constraints that only prefer nodes, each with the similar pods that it counts. `isDefault` is true
 * if the pod has no constraints, so that kube-scheduler's defaults apply.
 */
export function crowdsOf(pod: SpreadPod, board: Board) {
  const own = pod.placementTerms?.spread ?? [];
  if (own.length === 0) {
    if (pod.replicaSet === undefined) return { crowds: [], isDefault: true };
    const like = podsAmong(board, board.directory.siblingsIn(pod.replicaSet));
    return { crowds: DEFAULTS.map((one): Crowd => ({ ...one, like })), isDefault: true };
  }
  const soft = own.filter((one) => !isStrict(one));
  const crowds = soft.map((one): Crowd => ({
    ...one,
    like: podsLike(board, one.selector).filter((other) => isLike(one, pod, other)),
  }));
  return { crowds, isDefault: false };
}

/**
 * Returns a number for each node, which is higher if the node's topology domain has more similar pods. The number is
 * undefined if the node lacks the topology label of one of the pod's own constraints.
 */
export function crowdednessOf(
  nodes: readonly FitNode[],
  { crowds, isDefault }: ReturnType<typeof crowdsOf>,
  labelsOf: ReadonlyMap<string, Labels>,
): readonly (number | undefined)[] {
  const isScored = nodes.map(
    ({ labels }) => isDefault || crowds.every(({ topologyKey }) => ownValue(labels, topologyKey) !== undefined),
  );
  const sums = nodes.map(() => 0);
  for (const { topologyKey, maxSkew, like } of crowds) {
    const counts = new Map<string, number>();
    for (const { nodeName } of like) {
      const domain = ownValue(labelsOf.get(nodeName) ?? {}, topologyKey);
      if (domain !== undefined) counts.set(domain, (counts.get(domain) ?? 0) + 1);
    }
    const domains = nodes.map(({ labels }) => ownValue(labels, topologyKey));
    const scored = domains.filter((_, at) => isScored[at]);
    const weight = Math.log((topologyKey === HOSTNAME ? scored.length : new Set(scored).size) + 2);
    domains.forEach((domain, at) => {
      if (domain !== undefined) sums[at] = (sums[at] ?? 0) + (counts.get(domain) ?? 0) * weight + maxSkew - 1;
    });
  }
  return sums.map((sum, at) => (isScored[at] ? Math.round(sum) : undefined));
}
