/**
 * What Lifeboat does to disruption budgets, in a simulated cluster.
 * Owns: the conditions under which it is done. Does not own: their arithmetic (control-plane.ts).
 */
import { type BudgetFacts, keyOf, type VmiFacts } from "../../../shared/policy/facts.ts";
import { budget, owner } from "../fixtures.ts";
import type { ActResult, SimulatedCluster, Write } from "./cluster.ts";

/** One of ours that the disruption controller has not seen yet. */
export function unseenBudget({ name, uid }: VmiFacts, minAvailable: 1 | 2): BudgetFacts {
  const owners = [owner({ name, uid, controller: false })];
  const selector = { matchLabels: { "kubevirt.io/created-by": uid }, matchExpressions: [] };
  const status = { observedGeneration: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  return budget({ owners, selector, minAvailable, status });
}

export function createBudget(cluster: SimulatedCluster, { vmi, name, minAvailable }: Write<"CreateBudget">): ActResult {
  const key = { namespace: vmi.namespace, name };
  if (cluster.budgets.has(keyOf(key))) return "Done";
  const version = cluster.version();
  const uids = { uid: `b${version}`, resourceVersion: version };
  cluster.budgets.set(keyOf(key), { ...unseenBudget(vmi, minAvailable), ...key, ...uids });
  return "Done";
}

export function resizeBudget(
  cluster: SimulatedCluster,
  { budget: observed, minAvailable }: Write<"ResizeBudget">,
): ActResult {
  const found = cluster.budgets.get(keyOf(observed));
  if (found?.uid !== observed.uid || found.minAvailable !== observed.minAvailable) return "Conflict";
  return setSize(cluster, found, minAvailable);
}

export function growBudget(cluster: SimulatedCluster, { vmi, name }: Write<"GrowBudget">): ActResult {
  const found = cluster.budgets.get(keyOf({ namespace: vmi.namespace, name }));
  return found?.managedByUs !== true || found.minAvailable === 2 ? "Done" : setSize(cluster, found, 2);
}

function setSize({ budgets }: SimulatedCluster, found: BudgetFacts, minAvailable: 1 | 2): ActResult {
  budgets.set(keyOf(found), { ...found, minAvailable, generation: found.generation + 1 });
  return "Done";
}
