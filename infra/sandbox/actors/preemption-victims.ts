/** Chooses the victims of a preemption, and the node where they cost least. */
import { matchesSelector } from "../labels.ts";
import { whyNot } from "./node-fit.ts";
import type { Node, Pod, PodDisruptionBudget } from "./resources.ts";
import type { Storage } from "./volume-fit.ts";

export interface Candidate {
  readonly node: string;
  /** Sorted by importance, the highest first. */
  readonly victims: readonly Pod[];
  /** How many of them are protected by a budget. */
  readonly violations: number;
}

export interface Situation {
  readonly node: Node;
  /** On the node, or nominated to it with the same or a higher priority. */
  readonly neighbours: readonly Pod[];
  readonly budgets: readonly PodDisruptionBudget[];
}

export function priorityOf({ spec }: Pod): number {
  return spec?.priority ?? 0;
}

/** Returns whether preemption may help: only against the use of other pods, not against properties of the node. */
export function mayHelp(pod: Pod, node: Node, storage: Storage): boolean {
  return whyNot(pod, node, [], { storage }) === undefined;
}

/** Finds victims. Returns undefined if the pod would not fit even without all pods of lower priority. */
export function findVictims(pod: Pod, { node, neighbours, budgets }: Situation): Candidate | undefined {
  const lower = neighbours.filter((other) => priorityOf(other) < priorityOf(pod)).toSorted(byImportance);
  const staying = neighbours.filter((other) => !lower.includes(other));
  if (lower.length === 0 || whyNot(pod, node, staying) !== undefined) return undefined;
  const violating = violatingPods(lower, budgets);
  const victims = new Set(lower);
  // Spares the pods that may stay: those protected by budgets first, then those of higher priority.
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
  /** The nodes for pods of the group, as far as preemption can help. */
  readonly nodesFor: (pod: Pod) => readonly Node[];
  readonly neighboursOn: (node: string, pod: Pod) => readonly Pod[];
  readonly budgets: readonly PodDisruptionBudget[];
}

export interface GroupCandidate {
  /** Sorted by importance over all nodes, the highest first. */
  readonly victims: readonly Pod[];
  /** By the UID of each pod of the group. */
  readonly nodes: ReadonlyMap<string, string>;
}

/** Finds victims for a group. Returns undefined if not every pod finds a place, so that none of them preempts. */
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
 * Each pod uses one disruption of every budget that selects it. Pods without a remaining disruption violate the budget.
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
  // Unlike an eviction, preemption takes a pod without labels for selected by no budget.
  if (metadata.namespace !== namespace || selector === undefined || Object.keys(labels).length === 0) return false;
  const isEmpty = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0;
  return !isEmpty && matchesSelector(selector, labels);
}

/**
 * Criteria in order. Each decides only between nodes that are equal by the earlier ones. A smaller value is cheaper.
 */
const COSTS: readonly ((candidate: Candidate) => number)[] = [
  ({ violations }) => violations,
  ({ victims }) => Math.max(...victims.map(priorityOf)),
  // Shifted, so that a victim of negative priority still costs more than no victim.
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

/** The earliest start of the victims of highest priority: long-running pods stay if possible. */
function earliestStart(victims: readonly Pod[]): number {
  const highest = Math.max(...victims.map(priorityOf));
  return Math.min(...victims.filter((victim) => priorityOf(victim) === highest).map(startOf));
}
