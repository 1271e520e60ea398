/**
 * Who would have to go for a pod to fit, and on which node that costs least.
 * Owns: that choice, by kube-scheduler's rules. Does not own: carrying it out (preemption.ts).
 */
import { matchesSelector } from "../labels.ts";
import { whyNot } from "./node-fit.ts";
import type { Node, Pod, PodDisruptionBudget } from "./resources.ts";

export interface Candidate {
  readonly node: string;
  /** The most important first. */
  readonly victims: readonly Pod[];
  /** How many of them a budget wants to keep. */
  readonly violations: number;
}

export interface Situation {
  readonly node: Node;
  /** On the node, or nominated to it by somebody at least as important. */
  readonly neighbours: readonly Pod[];
  readonly budgets: readonly PodDisruptionBudget[];
}

export function priorityOf({ spec }: Pod): number {
  return spec?.priority ?? 0;
}

/** Preemption can only help against what other pods take, not against what the node is. */
export function mayHelp(pod: Pod, node: Node): boolean {
  return whyNot(pod, node, []) === undefined;
}

/** undefined: not even without all that is less important would the pod fit. */
export function findVictims(pod: Pod, { node, neighbours, budgets }: Situation): Candidate | undefined {
  const lower = neighbours.filter((other) => priorityOf(other) < priorityOf(pod)).toSorted(byImportance);
  const staying = neighbours.filter((other) => !lower.includes(other));
  if (lower.length === 0 || whyNot(pod, node, staying) !== undefined) return undefined;
  const violating = violatingPods(lower, budgets);
  const victims = new Set(lower);
  // Whoever need not go is spared: the budgets' pods before the others, the important before the less so.
  for (const other of [...lower.filter((one) => violating.has(one)), ...lower.filter((one) => !violating.has(one))]) {
    if (whyNot(pod, node, [...staying, other]) !== undefined) continue;
    staying.push(other);
    victims.delete(other);
  }
  const violations = [...victims].filter((victim) => violating.has(victim)).length;
  return { node: node.metadata.name, victims: [...victims], violations };
}

function byImportance(a: Pod, b: Pod): number {
  return priorityOf(b) - priorityOf(a) || startOf(a) - startOf(b);
}

function startOf({ status, metadata }: Pod): number {
  return Date.parse(status?.startTime ?? metadata.creationTimestamp);
}

/** Each pod uses up one disruption of every budget that selects it; those that find none left violate it. */
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
  // Unlike an eviction, preemption takes a pod without labels for nobody's.
  if (metadata.namespace !== namespace || selector === undefined || Object.keys(labels).length === 0) return false;
  const isEmpty = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0;
  return !isEmpty && matchesSelector(selector, labels);
}

/** One after another, each decides only between those the earlier ones find equal; smaller is cheaper. */
const COSTS: readonly ((candidate: Candidate) => number)[] = [
  ({ violations }) => violations,
  ({ victims }) => Math.max(...victims.map(priorityOf)),
  // Shifted, so that a victim of negative priority is still worse than none.
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

/** Of the most important victims: what has run for long is rather kept. */
function earliestStart(victims: readonly Pod[]): number {
  const highest = Math.max(...victims.map(priorityOf));
  return Math.min(...victims.filter((victim) => priorityOf(victim) === highest).map(startOf));
}
