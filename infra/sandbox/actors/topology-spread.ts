/**
 * Topology spread constraints. A constraint with DoNotSchedule excludes nodes. A constraint with ScheduleAnyway affects
 * only the scores of nodes.
 */
import { matchesSelector, type Labels } from "../labels.ts";
import type { Node, Pod } from "./resources.ts";

type Constraint = NonNullable<NonNullable<Pod["spec"]>["topologySpreadConstraints"]>[number];

export interface Placed {
  readonly pod: Pod;
  readonly node: Node;
}

export interface Admits {
  readonly byAffinity: (node: Node) => boolean;
  readonly byTaints: (node: Node) => boolean;
}

const labelsOf = ({ metadata }: Node): Labels => metadata.labels ?? {};

/** Returns kube-scheduler's message if a constraint excludes the node. */
export function whatIsUneven(
  pod: Pod,
  node: Node,
  cluster: { readonly nodes: readonly Node[]; readonly placed: readonly Placed[] },
  admits: Admits,
): string | undefined {
  const all = (pod.spec?.topologySpreadConstraints ?? []).filter((one) => one.whenUnsatisfiable === "DoNotSchedule");
  const isKeyed = (one: Node) => all.every(({ topologyKey }) => labelsOf(one)[topologyKey] !== undefined);
  for (const constraint of all) {
    const own = labelsOf(node)[constraint.topologyKey];
    if (own === undefined) return "node(s) didn't match pod topology spread constraints (missing required label)";
    const counted = (one: Node) => isKeyed(one) && isCounted(constraint, one, admits);
    const domains = new Set(cluster.nodes.filter(counted).map((one) => labelsOf(one)[constraint.topologyKey]));
    const there = cluster.placed.filter((one) => counted(one.node) && isOne(constraint, pod, one.pod));
    const sizeOf = (domain: string | undefined) =>
      there.filter((one) => labelsOf(one.node)[constraint.topologyKey] === domain).length;
    const least = domains.size < (constraint.minDomains ?? 1) ? 0 : Math.min(...[...domains].map(sizeOf));
    const itself = isSelected(constraint, pod, pod) ? 1 : 0;
    if (sizeOf(own) + itself - least > constraint.maxSkew)
      return "node(s) didn't match pod topology spread constraints";
  }
  return undefined;
}

function isCounted({ nodeAffinityPolicy, nodeTaintsPolicy }: Constraint, node: Node, admits: Admits): boolean {
  if (nodeAffinityPolicy !== "Ignore" && !admits.byAffinity(node)) return false;
  return nodeTaintsPolicy !== "Honor" || admits.byTaints(node);
}

/** Returns true if the constraint counts the other pod. Terminating pods are not counted. */
function isOne(constraint: Constraint, pod: Pod, other: Pod): boolean {
  const { namespace, deletionTimestamp } = other.metadata;
  return namespace === pod.metadata.namespace && deletionTimestamp === undefined && isSelected(constraint, pod, other);
}

function isSelected({ labelSelector, matchLabelKeys = [] }: Constraint, pod: Pod, other: Pod): boolean {
  const { labels = {} } = other.metadata;
  const own = pod.metadata.labels ?? {};
  const isAlike = matchLabelKeys.every((key) => own[key] === undefined || own[key] === labels[key]);
  return isAlike && labelSelector !== undefined && matchesSelector(labelSelector, labels);
}

const HOSTNAME = "kubernetes.io/hostname";

/** kube-scheduler's default constraints. They apply if a ReplicaSet's pod has no constraints. */
const DEFAULTS: readonly Pick<Constraint, "topologyKey" | "maxSkew">[] = [
  { topologyKey: HOSTNAME, maxSkew: 3 },
  { topologyKey: "topology.kubernetes.io/zone", maxSkew: 5 },
];

/**
 * Returns a score for each node that has the topology labels. A node's score rises with the number of matching pods in
 * the node's domains. Returns undefined if no constraint affects the scores.
 */
export function crowdingOf(
  pod: Pod,
  nodes: readonly Node[],
  placed: readonly Placed[],
): readonly (number | undefined)[] | undefined {
  const own = pod.spec?.topologySpreadConstraints ?? [];
  const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller && owner.kind === "ReplicaSet");
  const isSibling = (other: Pod) => other.metadata.ownerReferences?.some(({ uid }) => uid === controller?.uid) === true;
  const spread =
    own.length === 0 && controller !== undefined
      ? DEFAULTS.map((constraint) => ({ ...constraint, isLike: isSibling }))
      : own
          .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === "ScheduleAnyway")
          .map((constraint) => ({ ...constraint, isLike: (other: Pod) => isOne(constraint, pod, other) }));
  if (spread.length === 0) return undefined;
  const isMissing = (node: Node) =>
    own.length > 0 && spread.some(({ topologyKey }) => labelsOf(node)[topologyKey] === undefined);
  const scored = nodes.filter((node) => !isMissing(node));
  const counts = spread.map(({ topologyKey, maxSkew, isLike }) => {
    const like = placed.filter((one) => isLike(one.pod));
    const size =
      topologyKey === HOSTNAME ? scored.length : new Set(scored.map((one) => labelsOf(one)[topologyKey])).size;
    return { topologyKey, like, maxSkew, weight: Math.log(size + 2) };
  });
  return nodes.map((node) => {
    if (isMissing(node)) return undefined;
    const points = counts.map(({ topologyKey, like, maxSkew, weight }) => {
      const value = labelsOf(node)[topologyKey];
      if (value === undefined) return 0;
      return like.filter((one) => labelsOf(one.node)[topologyKey] === value).length * weight + maxSkew - 1;
    });
    return Math.round(points.reduce((sum, one) => sum + one, 0));
  });
}
