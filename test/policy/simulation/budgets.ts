/**
 * What Lifeboat does to disruption budgets, in a simulated cluster, and KubeVirt 1.5 and older to its own.
 * Owns: the conditions under which it is done. Does not own: their arithmetic (control-plane.ts).
 * Upstream: KubeVirt's migration controller, and its disruption budget controller as of 1.5.
 */
import { type BudgetFacts, keyOf, type VmiFacts } from "../../../shared/policy/facts.ts";
import { isKubeVirts } from "../../../shared/policy/budget-owner.ts";
import { strategyOf } from "../../../shared/policy/stage.ts";
import { budget, kubevirtBudget, owner } from "../fixtures.ts";
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

/** The VMI is read again and the budget patched in one go here. */
export function resizeBudget(
  cluster: SimulatedCluster,
  { budget: observed, minAvailable, vmi }: Write<"ResizeBudget">,
): ActResult {
  if (vmi !== undefined && !isAsSeen(cluster, vmi)) return "Conflict";
  const found = cluster.budgets.get(keyOf(observed));
  const isSame = found?.uid === observed.uid && found.grownFor === observed.grownFor;
  if (!isSame || found.minAvailable !== observed.minAvailable) return "Conflict";
  return setSize(cluster, found, minAvailable);
}

function isAsSeen({ vmis }: SimulatedCluster, seen: VmiFacts): boolean {
  return vmis.get(keyOf(seen))?.resourceVersion === seen.resourceVersion;
}

/** The doors make the one that is missing, in one go here. */
export function ensureBudget(cluster: SimulatedCluster, { vmi, name, minAvailable }: Write<"EnsureBudget">): ActResult {
  const found = cluster.budgets.get(keyOf({ namespace: vmi.namespace, name }));
  if (found !== undefined || [...cluster.budgets.values()].some((one) => isKubeVirts(one, vmi))) return "Done";
  return createBudget(cluster, { verb: "CreateBudget", vmi, name, minAvailable });
}

/** Likewise, and grown then. */
export function growBudget(cluster: SimulatedCluster, { vmi, name, grownFor }: Write<"GrowBudget">): ActResult {
  const found = cluster.budgets.get(keyOf({ namespace: vmi.namespace, name }));
  if (found === undefined) {
    if ([...cluster.budgets.values()].some((one) => isKubeVirts(one, vmi))) return "Done";
    createBudget(cluster, { verb: "CreateBudget", vmi, name, minAvailable: 2 });
    return growBudget(cluster, { verb: "GrowBudget", vmi, name, grownFor, required: true });
  }
  if (!found.managedByUs) return "Done";
  if (found.minAvailable !== 2) return setSize(cluster, { ...found, grownFor }, 2);
  cluster.budgets.set(keyOf(found), { ...found, grownFor });
  return "Done";
}

function setSize({ budgets }: SimulatedCluster, found: BudgetFacts, minAvailable: 1 | 2): ActResult {
  budgets.set(keyOf(found), { ...found, minAvailable, generation: found.generation + 1 });
  return "Done";
}

/** Of every VM that asks for protection. */
export function addKubeVirts(cluster: SimulatedCluster, vmi: VmiFacts): void {
  if (strategyOf(vmi, cluster.settings) === "None") return;
  const name = `kubevirt-disruption-budget-${vmi.uid}`;
  const { selector, status } = unseenBudget(vmi, 1);
  const owners = [owner({ name: vmi.name, uid: vmi.uid })];
  const added = kubevirtBudget({
    namespace: vmi.namespace,
    name,
    uid: name,
    owners,
    status,
    ...(selector && { selector }),
  });
  cluster.budgets.set(keyOf(added), added);
}

/** Before there is a target. */
export function growKubeVirts(cluster: SimulatedCluster, vmi: VmiFacts): void {
  for (const found of cluster.budgets.values()) if (isKubeVirts(found, vmi)) setSize(cluster, found, 2);
}

/** Where no migration is under way any more. */
export function shrinkKubeVirts(cluster: SimulatedCluster): void {
  const migrating = new Set(cluster.unfinished().map((m) => `${m.namespace}/${m.vmiName}`));
  const resting = [...cluster.vmis.values()].filter((vmi) => !migrating.has(keyOf(vmi)));
  for (const found of cluster.budgets.values()) {
    if (found.minAvailable === 2 && resting.some((vmi) => isKubeVirts(found, vmi))) setSize(cluster, found, 1);
  }
}
