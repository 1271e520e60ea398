/** Chooses the pods that a preemption deletes, and the node with the cheapest victims. */
import { matchesSelector } from "../labels.ts";
import { whyNot } from "./node-fit.ts";
import type { Node, Pod, PodDisruptionBudget } from "./resources.ts";
import type { Storage } from "./volume-fit.ts";

export interface Candidate {
  readonly node: string;
  /** The victims, in descending order of importance. */
  readonly victims: readonly Pod[];
  /** The number of victims whose deletion violates a PodDisruptionBudget. */
  readonly violations: number;
}

export interface Situation {
  readonly node: Node;
  /**
   * Pods on the node. Also includes pods that are nominated to the node, if their priority is at least that of the
   * preempting pod.
   */
  readonly neighbours: readonly Pod[];
  readonly budgets: readonly PodDisruptionBudget[];
}

export function priorityOf({ spec }: Pod): number {
  return spec?.priority ?? 0;
}

/** Returns whether the pod would fit the node if the node had no other pods. */
export function mayHelp(pod: Pod, node: Node, storage: Storage): boolean {
  return whyNot(pod, node, [], { storage }) === undefined;
}

/** Finds victims. Returns undefined if the pod would not fit after the deletion of all pods with lower priority. */
export function findVictims(pod: Pod, { node, neighbours, budgets }: Situation): Candidate | undefined {
  const lower = neighbours.filter((other) => priorityOf(other) < priorityOf(pod)).toSorted(byImportance);
  const staying = neighbours.filter((other) => !lower.includes(other));
  if (lower.length === 0 || whyNot(pod, node, staying) !== undefined) return undefined;
  const violating = violatingPods(lower, budgets);
  const victims = new Set(lower);
  // At first, all pods of lower priority are victims. Then each pod that fits beside the preempting pod is spared. Pods
  // whose deletion violates a PodDisruptionBudget are checked before the other pods. Within each of these two groups,
  // more important pods are checked first.
  for (const other of [...lower.filter((one) => violating.has(one)), ...lower.filter((one) => !violating.has(one))]) {
    if (whyNot(pod, node, [...staying, other]) !== undefined) continue;
    staying.push(other);
    victims.delete(other);
  }
  const violations = [...victims].filter((victim) => violating.has(victim)).length;
  return { node: node.metadata.name, victims: [...victims], violations };
}

export interface Group {
  readonly pods: readonly Pod[];
  readonly nodesFor: (pod: Pod) => readonly Node[];
  readonly neighboursOn: (node: string, pod: Pod) => readonly Pod[];
  readonly budgets: readonly PodDisruptionBudget[];
}

export interface GroupCandidate {
  /** The victims on all nodes, in descending order of importance. */
  readonly victims: readonly Pod[];
  /** The chosen nodes, as a map from pod UID to node name. */
  readonly nodes: ReadonlyMap<string, string>;
}

/** Finds victims on all nodes, so that every pod of a group fits. Returns undefined if this is impossible. */
export function findGroupVictims({ pods, nodesFor, neighboursOn, budgets }: Group): GroupCandidate | undefined {
  const victims = new Set<Pod>();
  const nodes = new Map<string, string>();
  for (const pod of pods) {
    const candidates = nodesFor(pod).flatMap((node): readonly Candidate[] => {
      const { name } = node.metadata;
      const others = neighboursOn(name, pod).filter((other) => !victims.has(other) && !pods.includes(other));
      const neighbours = [...others, ...pods.filter(({ metadata }) => nodes.get(metadata.uid) === name)];
      if (whyNot(pod, node, neighbours) === undefined) return [{ node: name, victims: [], violations: 0 }];
      return [findVictims(pod, { node, neighbours, budgets })].filter((found) => found !== undefined);
    });
    const best = cheapest(candidates);
    if (best === undefined) return undefined;
    nodes.set(pod.metadata.uid, best.node);
    for (const victim of best.victims) victims.add(victim);
  }
  return { victims: [...victims].toSorted(byImportance), nodes };
}

function byImportance(a: Pod, b: Pod): number {
  return priorityOf(b) - priorityOf(a) || startOf(a) - startOf(b);
}

function startOf({ status, metadata }: Pod): number {
  return Date.parse(status?.startTime ?? metadata.creationTimestamp);
}

/**
 * Returns the pods whose deletion violates a PodDisruptionBudget. Each pod uses one allowed disruption of every budget
 * that selects the pod. After the last allowed disruption, each deletion violates the budget.
 */
function violatingPods(pods: readonly Pod[], budgets: readonly PodDisruptionBudget[]): ReadonlySet<Pod> {
  const left = new Map(budgets.map((budget) => [budget, budget.status?.disruptionsAllowed ?? 0]));
  const violating = new Set<Pod>();
  for (const pod of pods)
    for (const budget of budgets) {
      const promised = budget.status?.disruptedPods?.[pod.metadata.name] !== undefined;
      if (promised || !selects(budget, pod)) continue;
      const remaining = (left.get(budget) ?? 0) - 1;
      left.set(budget, remaining);
      if (remaining < 0) violating.add(pod);
    }
  return violating;
}

function selects({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean {
  const { labels = {}, namespace } = pod.metadata;
  const { selector } = spec ?? {};
  // In preemption, no PodDisruptionBudget protects a pod without labels.
  if (metadata.namespace !== namespace || selector === undefined || Object.keys(labels).length === 0) return false;
  const isEmpty = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0;
  return !isEmpty && matchesSelector(selector, labels);
}

/** The costs of a node, in order of importance. A cost is compared only if the nodes are equal in all earlier costs. */
const COSTS: readonly ((candidate: Candidate) => number)[] = [
  ({ violations }) => violations,
  ({ victims }) => Math.max(...victims.map(priorityOf)),
  // The sum includes 2^31 for each victim. A victim with a negative priority therefore costs more than no victim.
  ({ victims }) => victims.reduce((sum, victim) => sum + priorityOf(victim) + 2 ** 31, 0),
  ({ victims }) => victims.length,
  ({ victims }) => -earliestStart(victims),
];

export function cheapest(candidates: readonly Candidate[]): Candidate | undefined {
  return candidates.toSorted((a, b) => {
    for (const cost of COSTS) if (cost(a) !== cost(b)) return cost(a) - cost(b);
    return a.node.localeCompare(b.node);
  })[0];
}

/**
 * Returns the earliest start time of the victims with the highest priority. A later time makes the node cheaper.
 */
function earliestStart(victims: readonly Pod[]): number {
  const highest = Math.max(...victims.map(priorityOf));
  return Math.min(...victims.filter((victim) => priorityOf(victim) === highest).map(startOf));
}
