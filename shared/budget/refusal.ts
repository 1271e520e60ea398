/**
 * Finds PodDisruptionBudgets that refuse an eviction, a restart or a stop of a guest. Ignores Lifeboat's budgets.
 * Upstream: pkg/registry/core/pod/storage/eviction.go.
 */
import type { BudgetFacts, OwnerReference, PodFacts } from "../kube/facts.ts";
import { isFinal, matches } from "../kube/objects.ts";
import { isVmi } from "./budget.ts";
import { BUDGET_MESSAGES as MESSAGES } from "./messages.ts";

/** Returns true for a budget that Lifeboat created for a VM. Lifeboat deletes this budget before the VM stops. */
function isLifeboats({ managedByUs, owners }: BudgetFacts): boolean {
  return managedByUs && owners.some(isVmi);
}

function budgetsFor(pod: PodFacts, budgets: readonly BudgetFacts[]): readonly BudgetFacts[] {
  if (isFinal(pod) || pod.phase === "Pending" || pod.deleting) return [];
  return budgets.filter((b) => b.namespace === pod.namespace && !isLifeboats(b) && matches(b.selector, pod.labels));
}

/** Returns the budget that counts an eviction of the pod as a disruption. */
export function budgetOf(pod: PodFacts, budgets: readonly BudgetFacts[]): BudgetFacts | undefined {
  return budgetsFor(pod, budgets).find((budget) => !isSparedAsUnhealthy(pod, budget));
}

export interface Refusal {
  /** `BudgetOfController`: the controller that created the budget might allow the eviction later. */
  readonly reason: "BudgetExhausted" | "BudgetOfController" | "SeveralBudgets";
  readonly message: string;
}

/** Returns why a budget refuses an eviction of the pod. Returns undefined if no budget refuses. */
export function refusedByBudget(pod: PodFacts, budgets: readonly BudgetFacts[]): Refusal | undefined {
  const [budget, ...others] = budgetsFor(pod, budgets);
  if (budget === undefined) return undefined;
  if (others.length > 0) {
    return { reason: "SeveralBudgets", message: MESSAGES.several([budget, ...others]) };
  }
  if (isSparedAsUnhealthy(pod, budget)) return undefined;
  const { observedGeneration, disruptionsAllowed } = budget.status;
  const isCounted = observedGeneration >= budget.generation;
  if (isCounted && disruptionsAllowed > 0) return undefined;
  const why = isCounted ? MESSAGES.exhausted(budget) : MESSAGES.notCounted;
  const controller = controllerOf(budget, pod);
  return controller === undefined
    ? { reason: "BudgetExhausted", message: MESSAGES.refuses(budget, why) }
    : { reason: "BudgetOfController", message: MESSAGES.ofController(budget, controller, why) };
}

/** Kinds of owners whose controllers create no budgets. */
const WORKLOADS: ReadonlySet<string> = new Set([
  "ReplicaSet",
  "ReplicationController",
  "StatefulSet",
  "Job",
  "DaemonSet",
  "VirtualMachineInstance",
]);

function isOperators({ controller, kind }: OwnerReference): boolean {
  return controller && !WORKLOADS.has(kind);
}

/**
 * Returns the object whose controller created the budget. This object is the budget's owner. If the budget has no
 * owner, this object is the pod's owner with the same name as the budget.
 */
function controllerOf({ name, owners }: BudgetFacts, pod: PodFacts): string | undefined {
  const owner = owners.find(isOperators) ?? pod.owners.find((one) => isOperators(one) && one.name === name);
  return owner && `${owner.kind} ${owner.name}`;
}

/** Returns whether the budget allows the eviction of the pod because the pod is unhealthy. */
function isSparedAsUnhealthy({ ready }: PodFacts, { unhealthyPodEvictionPolicy, status }: BudgetFacts): boolean {
  const isMet = status.desiredHealthy > 0 && status.currentHealthy >= status.desiredHealthy;
  return !ready && (unhealthyPodEvictionPolicy === "AlwaysAllow" || isMet);
}

/** A launcher pod of a VM that Lifeboat wants to restart or stop. */
export interface Ending {
  readonly pod: PodFacts;
  /** Whether the VM runs again afterwards. If false, the pod uses up one allowed disruption of its budget. */
  readonly isBack: boolean;
}

/**
 * Returns the refusals of restarts and stops, keyed by the pod's UID. Ignores budgets that a VMI owns, because a VMI's
 * budget protects only against evictions.
 */
export function keptByBudgets(
  ending: readonly Ending[],
  budgets: readonly BudgetFacts[],
): ReadonlyMap<string, Refusal> {
  let left: readonly BudgetFacts[] = budgets.filter(({ owners }) => !owners.some(isVmi));
  const kept = new Map<string, Refusal>();
  for (const { pod, isBack } of ending.toSorted((a, b) => Number(a.isBack) - Number(b.isBack))) {
    const refusal = refusedByBudget(pod, left);
    if (refusal !== undefined) kept.set(pod.uid, refusal);
    else if (!isBack) left = withoutOne(left, budgetOf(pod, left));
  }
  return kept;
}

function withoutOne(budgets: readonly BudgetFacts[], used: BudgetFacts | undefined): readonly BudgetFacts[] {
  return budgets.map((budget) => {
    if (budget !== used) return budget;
    const { disruptionsAllowed, currentHealthy } = budget.status;
    const status = { ...budget.status, disruptionsAllowed: disruptionsAllowed - 1, currentHealthy: currentHealthy - 1 };
    return { ...budget, status };
  });
}
