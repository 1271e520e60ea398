/**
 * Whether a disruption budget really stops the API server from evicting a pod.
 * Owns: that proof. Does not own: which budgets there should be (budget.ts).
 * Upstream: kube-apiserver pkg/registry/core/pod/storage/eviction.go, and kube-controller-manager's disruption controller.
 */
import { isKubeVirts } from "./budget-owner.ts";
import type { BudgetFacts, PodFacts, VmiFacts } from "./facts.ts";
import { matches } from "./selector.ts";

/** Every budget of the pod's namespace is given; `vmi` is the one that runs in it. Anything short of proof is false. */
export function protects(budgets: readonly BudgetFacts[], pod: PodFacts, vmi: VmiFacts): boolean {
  // The API server asks no budget about a pod that is pending or terminating.
  if (pod.phase === "Pending" || pod.deleting) return false;
  const selecting = budgets.filter((budget) => matches(budget.selector, pod.labels));
  const [budget] = selecting;
  // Two budgets on one pod make every eviction fail with 500, which no caller understands.
  if (budget === undefined || selecting.length !== 1) return false;
  return allowsNothing(budget) && coversUnready(budget, pod) && outlivesMigration(budget, vmi);
}

/** Its status is up to date, allows no disruption, and will not allow one when more of its pods become ready. */
export function allowsNothing(budget: BudgetFacts): boolean {
  const { observedGeneration, disruptionsAllowed, desiredHealthy, expectedPods } = budget.status;
  const settled = !budget.deleting && observedGeneration === budget.generation;
  return settled && disruptionsAllowed === 0 && desiredHealthy >= 1 && expectedPods <= desiredHealthy;
}

/**
 * With 1, a target that becomes ready makes the source evictable, and the API server asks the budget after it has asked
 * us: somebody's migration may begin in between. KubeVirt's own budget grows before there is a target. A VM that cannot
 * migrate may have begun to when it still could.
 */
function outlivesMigration(budget: BudgetFacts, vmi: VmiFacts): boolean {
  const stays = !vmi.liveMigratable.migratable && Object.keys(vmi.activePods).length < 2;
  return stays || budget.status.desiredHealthy >= 2 || isKubeVirts(budget, vmi);
}

/** A pod that is not ready is evicted regardless under AlwaysAllow, and otherwise if enough others are healthy. */
function coversUnready(budget: BudgetFacts, pod: PodFacts): boolean {
  if (pod.ready) return true;
  const enoughOthers = budget.status.currentHealthy >= budget.status.desiredHealthy;
  return budget.unhealthyPodEvictionPolicy !== "AlwaysAllow" && !enoughOthers;
}
