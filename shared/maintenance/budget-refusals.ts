/**
 * Finds the VMs that Lifeboat must not restart or stop, because the PodDisruptionBudget of another party refuses the
 * restart or stop.
 */
import { keptByBudgets, type Refusal } from "../budget/refusal.ts";
import type { BudgetFacts, PodFacts } from "../kube/facts.ts";
import { isLauncher, keyOf, vmiNameOf } from "../kube/objects.ts";
import type { VmView } from "./vms.ts";

/** Returns the refusals, keyed by `namespace/name` of the VM. */
export function refusalsByBudgets(
  views: readonly VmView[],
  pods: readonly PodFacts[],
  budgets: readonly BudgetFacts[],
): ReadonlyMap<string, Refusal> {
  const ending = new Map(views.filter(({ fate }) => fate === "ShutsDown").map((view) => [keyOf(view.vmi), view.way]));
  const own = pods.filter(isLauncher).flatMap((pod) => {
    const key = keyOf({ ...pod, name: vmiNameOf(pod) ?? "" });
    return ending.has(key) ? [{ key, pod, isBack: ending.get(key) === "Restart" }] : [];
  });
  const kept = keptByBudgets(own, budgets);
  return new Map(
    own.flatMap(({ key, pod }) => {
      const refusal = kept.get(pod.uid);
      return refusal === undefined ? [] : [[key, refusal] as const];
    }),
  );
}
