/** All messages about PodDisruptionBudgets that refuse an eviction. */
import type { BudgetFacts } from "../kube/facts.ts";

export const BUDGET_MESSAGES = {
  several: (budgets: readonly Pick<BudgetFacts, "name">[]) =>
    `the pod is selected by more than one PodDisruptionBudget (${budgets.map(({ name }) => name).join(", ")}): ` +
    "the API server does not evict such a pod",
  exhausted: ({ status: { desiredHealthy, currentHealthy } }: BudgetFacts) =>
    `allows no disruption: it needs ${desiredHealthy} healthy pods and has ${currentHealthy}`,
  notCounted: "has no status yet from the disruption controller",
  refuses: ({ name }: BudgetFacts, why: string) => `PodDisruptionBudget ${name} ${why}`,
  ofController: ({ name }: BudgetFacts, controller: string, why: string) =>
    `PodDisruptionBudget ${name} of ${controller} ${why}; ` +
    "its controller might allow the eviction later, for example when the node's volumes are detached",
} as const;
