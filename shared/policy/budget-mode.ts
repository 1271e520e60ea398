/**
 * Whether Lifeboat makes disruption budgets in this cluster.
 * Owns: that decision. Does not own: which VMI has one, and how large it is (budget.ts).
 */
import type { Settings } from "./settings.ts";

export function areBudgetsWanted({ reconcilers }: Settings): boolean {
  return reconcilers.budget !== "Disabled";
}
