/** What the API server's own budgets say to an eviction that no webhook refuses. Upstream: pkg/registry/core/pod/storage/eviction.go. */
import { isVmi } from "../budget/identity.ts";
import { type BudgetFacts, isCompleted, type PodFacts } from "../facts.ts";
import { matches } from "../kube/selector.ts";
import type { EvictionPreview } from "./result.ts";

/** Those that an eviction of the pod asks. */
function budgetsOf(pod: PodFacts, budgets: readonly BudgetFacts[]): readonly BudgetFacts[] {
  if (isCompleted(pod) || pod.phase === "Pending" || pod.deleting) return [];
  return budgets.filter((b) => b.namespace === pod.namespace && !isLifeboats(b) && matches(b.selector, pod.labels));
}

/** The one of whose disruptions an eviction of the pod takes one. */
export function guardOf(pod: PodFacts, budgets: readonly BudgetFacts[]): BudgetFacts | undefined {
  return budgetsOf(pod, budgets).find((budget) => !isSparedAsUnhealthy(pod, budget));
}

/** Undefined: no budget is in the way. */
export function refusedByBudget(pod: PodFacts, budgets: readonly BudgetFacts[]): EvictionPreview | undefined {
  const concerned = budgetsOf(pod, budgets);
  const [budget] = concerned;
  if (budget === undefined) return undefined;
  if (concerned.length > 1) {
    const names = concerned.map(({ name }) => name).join(", ");
    const message = `more than one PodDisruptionBudget selects the pod (${names}): the API server evicts no such pod`;
    return { allowed: false, reason: "SeveralBudgets", message };
  }
  return isToSpare(pod, budget) ? undefined : { allowed: false, reason: "BudgetExhausted", message: wordsOf(budget) };
}

/** Of a VM that it lets go Lifeboat keeps none: one that is there still is about to be deleted. */
function isLifeboats({ managedByUs, owners }: BudgetFacts): boolean {
  return managedByUs && owners.some(isVmi);
}

function isToSpare(pod: PodFacts, budget: BudgetFacts): boolean {
  const { observedGeneration, disruptionsAllowed } = budget.status;
  return isSparedAsUnhealthy(pod, budget) || (observedGeneration >= budget.generation && disruptionsAllowed > 0);
}

/** Its eviction takes no disruption: it counts as none of the healthy pods. */
function isSparedAsUnhealthy({ ready }: PodFacts, { unhealthyPodEvictionPolicy, status }: BudgetFacts): boolean {
  const isMet = status.desiredHealthy > 0 && status.currentHealthy >= status.desiredHealthy;
  return !ready && (unhealthyPodEvictionPolicy === "AlwaysAllow" || isMet);
}

function wordsOf({ name, generation, status }: BudgetFacts): string {
  const { observedGeneration, currentHealthy, desiredHealthy } = status;
  if (observedGeneration < generation) return `PodDisruptionBudget ${name} has not been counted yet`;
  return `PodDisruptionBudget ${name} allows no disruption: it needs ${desiredHealthy} healthy pods and has ${currentHealthy}`;
}
