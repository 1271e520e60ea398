/**
 * What the API server's own budgets say to an eviction that no webhook refuses.
 * Owns: that rule. Does not own: Lifeboat's budgets (../budget), the webhooks' answer (../eviction).
 * Upstream: pkg/registry/core/pod/storage/eviction.go.
 */
import { isVmi } from "../budget/identity.ts";
import { type BudgetFacts, isCompleted, type PodFacts } from "../facts.ts";
import { matches } from "../kube/selector.ts";
import type { EvictionPreview } from "./result.ts";

/** Undefined: no budget is in the way. */
export function refusedByBudget(pod: PodFacts, budgets: readonly BudgetFacts[]): EvictionPreview | undefined {
  if (isCompleted(pod) || pod.phase === "Pending" || pod.deleting) return undefined;
  const concerned = budgets.filter(
    (b) => b.namespace === pod.namespace && !isLifeboats(b) && matches(b.selector, pod.labels),
  );
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

function isToSpare({ ready }: PodFacts, { unhealthyPodEvictionPolicy, generation, status }: BudgetFacts): boolean {
  const { currentHealthy, desiredHealthy, observedGeneration, disruptionsAllowed } = status;
  const isMet = desiredHealthy > 0 && currentHealthy >= desiredHealthy;
  if (!ready && (unhealthyPodEvictionPolicy === "AlwaysAllow" || isMet)) return true;
  return observedGeneration >= generation && disruptionsAllowed > 0;
}

function wordsOf({ name, generation, status }: BudgetFacts): string {
  const { observedGeneration, currentHealthy, desiredHealthy } = status;
  if (observedGeneration < generation) return `PodDisruptionBudget ${name} has not been counted yet`;
  return `PodDisruptionBudget ${name} allows no disruption: it needs ${desiredHealthy} healthy pods and has ${currentHealthy}`;
}
