/** Topology spread constraints that forbid (whenUnsatisfiable: DoNotSchedule). */
import { matchesSelector, type Labels } from "../labels.ts";
import type { Node, Pod } from "./resources.ts";

type Constraint = NonNullable<NonNullable<Pod["spec"]>["topologySpreadConstraints"]>[number];

/** A pod, and the node that it is on. */
export interface Placed {
  readonly pod: Pod;
  readonly node: Node;
}

/** Whether the pod's node affinity, and its tolerations, let it onto a node. */
export interface Admits {
  readonly byAffinity: (node: Node) => boolean;
  readonly byTaints: (node: Node) => boolean;
}

const labelsOf = ({ metadata }: Node): Labels => metadata.labels ?? {};

/** In kube-scheduler's words; undefined if nothing is in the way. */
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

/** A terminating pod leaves room already. */
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
