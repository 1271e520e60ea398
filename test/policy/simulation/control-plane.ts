/**
 * The control plane's part in what becomes of pods: the eviction subresource, the disruption controller, the kubelets.
 * Owns: the arithmetic of budgets. Does not own: admission (doors.ts), KubeVirt (kubevirt.ts).
 * Upstream: pkg/registry/core/pod/storage/eviction.go, pkg/controller/disruption.
 */
import { isCompleted, keyOf, type NodeFacts, type PodFacts } from "../../../shared/policy/facts.ts";
import { matches } from "../../../shared/policy/selector.ts";
import { node } from "../disruptions.ts";
import type { SimulatedCluster } from "./cluster.ts";

/** The disruption controller: every status is what it has to be. */
export function reckon(cluster: SimulatedCluster): void {
  const all = cluster.pods.all();
  for (const budget of cluster.budgets.values()) {
    const selected = all.filter((pod) => pod.namespace === budget.namespace && matches(budget.selector, pod.labels));
    const currentHealthy = selected.filter((pod) => pod.ready && !pod.deleting).length;
    const desiredHealthy = typeof budget.minAvailable === "number" ? budget.minAvailable : 0;
    const disruptionsAllowed = Math.max(0, currentHealthy - desiredHealthy);
    const counts = { currentHealthy, desiredHealthy, expectedPods: selected.length };
    const status = { observedGeneration: budget.generation, disruptionsAllowed, ...counts };
    cluster.budgets.set(keyOf(budget), { ...budget, status });
  }
}

/** Whether the API server, having been let by admission, would end this pod now. */
export function isEvictable(cluster: SimulatedCluster, pod: PodFacts): boolean {
  if (isCompleted(pod) || pod.phase === "Pending" || pod.deleting) return true;
  const selecting = [...cluster.budgets.values()].filter((budget) => {
    return budget.namespace === pod.namespace && matches(budget.selector, pod.labels);
  });
  const [budget] = selecting;
  if (budget === undefined) return true;
  const { observedGeneration, disruptionsAllowed } = budget.status;
  return selecting.length === 1 && observedGeneration >= budget.generation && disruptionsAllowed > 0;
}

/** Pods that are terminating, or have ended, go. */
export function sweep(cluster: SimulatedCluster): void {
  for (const pod of cluster.pods.all())
    if (pod.deleting || isCompleted(pod)) cluster.endPod(pod.uid, { because: "Swept", since: cluster.now });
}

/** Those that VMs are on. */
export function nodesOf({ vmis, expelling, pressed }: SimulatedCluster): readonly NodeFacts[] {
  const names = [...new Set([...vmis.values()].flatMap((vmi) => vmi.nodeName ?? []))];
  const taint = { key: "dedicated", effect: "NoExecute" };
  return names.map((name) => {
    const pressures = pressed.has(name) ? ["MemoryPressure"] : [];
    return node({ name, pressures, taints: expelling.has(name) ? [taint] : [] });
  });
}
