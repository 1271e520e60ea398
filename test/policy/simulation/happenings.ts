/**
 * What each step of a story does to the simulated cluster, but for those of Lifeboat's own passes.
 * Owns: people, and everybody else who acts without asking Lifeboat. Does not own: their order (story.ts).
 */
import { hash8 } from "../../../shared/policy/hash.ts";
import { isFinal, keyOf, type VmiFacts } from "../../../shared/policy/facts.ts";
import { budget } from "../fixtures.ts";
import { shrinkKubeVirts } from "./budgets.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { reckon, sweep } from "./control-plane.ts";
import { cancel, evacuateByKubeVirt, evict, progress } from "./kubevirt.ts";
import { passAtOnce } from "./pass.ts";
import type { Happening, ToVm } from "./story.ts";

export function pick<T>(items: Iterable<T>, n: number): T | undefined {
  const all = [...items];
  return all.length === 0 ? undefined : all[n % all.length];
}

export function happen(cluster: SimulatedCluster, step: Happening): void {
  if ("outcome" in step) {
    const migration = pick(cluster.unfinished(), step.which);
    if (migration !== undefined) progress(cluster, migration, step.outcome);
    return;
  }
  if ("by" in step) return takeBack(cluster, step);
  if ("node" in step) return happenToNode(cluster, step);
  if ("which" in step) return happenToVm(cluster, step);
  if ("seconds" in step) cluster.now = new Date(cluster.now.getTime() + step.seconds * 1000);
  else BY_ITSELF[step.does](cluster);
}

function happenToNode(cluster: SimulatedCluster, { does, node }: Extract<Happening, { node: string }>): void {
  switch (does) {
    case "taint":
      cluster.tainted.add(node);
      return;
    case "untaint":
      cluster.tainted.delete(node);
      return;
    case "expel":
      cluster.expelling.add(node);
      return;
    case "readmit":
      cluster.expelling.delete(node);
      return;
    case "press":
      cluster.pressed.add(node);
      return;
    case "relieve":
      cluster.pressed.delete(node);
  }
}

function takeBack(cluster: SimulatedCluster, step: Extract<Happening, { does: "take back" }>): void {
  const { which, by, passes } = step;
  const slot = pick(cluster.held, which);
  const vm = slot && cluster.vmis.get(keyOf({ namespace: slot.namespace, name: slot.vmi }));
  if (vm === undefined) return;
  if (by === "untaint") cluster.tainted.delete(vm.nodeName ?? "");
  else ON_VM[by](cluster, vm);
  for (let i = 0; i < passes; i++) {
    reckon(cluster);
    passAtOnce(cluster, { scope: [] });
  }
}

function happenToVm(cluster: SimulatedCluster, { does, which }: ToVm): void {
  const vm = pick(cluster.vmis.values(), which);
  if (vm !== undefined) ON_VM[does](cluster, vm);
}

const ON_VM: Readonly<Record<ToVm["does"], (cluster: SimulatedCluster, vm: VmiFacts) => unknown>> = {
  evict,
  cancel,
  unmark: (cluster, vm) => cluster.update(vm, {}, "evacuationNodeName"),
  /** KubeVirt's own webhook, that tells nobody. */
  mark: (cluster, vm) => {
    const marks = vm.evictionStrategy?.startsWith("LiveMigrate") === true && vm.liveMigratable.migratable;
    if (marks && !isFinal(vm)) cluster.update(vm, { evacuationNodeName: vm.nodeName ?? "" });
  },
  migrate: (cluster, vm) => {
    const busy = cluster.unfinished().some((m) => m.vmiName === vm.name);
    const key = { namespace: vm.namespace, name: `by-hand-${cluster.version()}` };
    if (!busy && vm.liveMigratable.migratable && !vm.deleting && !isFinal(vm)) cluster.put(key, vm, {});
  },
  pin: (cluster, vm) => cluster.update(vm, { liveMigratable: { migratable: false, reason: "Pinned" } }),
  unpin: (cluster, vm) => cluster.update(vm, { liveMigratable: { migratable: true } }),
  delete: (cluster, vm) => cluster.update(vm, { deleting: true }),
  bury: (cluster, vm) => {
    if (vm.deleting || isFinal(vm)) bury(cluster, vm);
  },
  shadow,
};

/** The VMI is gone, and with it what it owns. */
function bury(cluster: SimulatedCluster, vm: VmiFacts): void {
  cluster.vmis.delete(keyOf(vm));
  for (const pod of cluster.pods.of(vm)) cluster.pods.remove(pod.uid);
  for (const [key, { owners }] of cluster.budgets)
    if (owners.some(({ uid }) => uid === vm.uid)) cluster.budgets.delete(key);
  for (const [key, m] of cluster.migrations)
    if (m.vmiName === vm.name) cluster.migrations.set(key, { ...m, phase: "Failed" });
}

/** Somebody's own budget for the VM comes, or goes; but not while it is what an answer relies on. */
function shadow(cluster: SimulatedCluster, vm: VmiFacts): void {
  if (cluster.pods.of(vm).some(({ uid }) => cluster.answering.has(uid))) return;
  const name = `budget-of-${hash8(vm.uid)}`;
  const key = keyOf({ namespace: vm.namespace, name });
  const selector = { matchLabels: { "kubevirt.io/created-by": vm.uid }, matchExpressions: [] };
  const { namespace } = vm;
  if (!cluster.budgets.delete(key)) {
    cluster.budgets.set(key, budget({ namespace, name, uid: name, managedByUs: false, owners: [], selector }));
  }
}

const BY_ITSELF = {
  "disruption controller": (cluster) => {
    shrinkKubeVirts(cluster);
    reckon(cluster);
  },
  "evacuation controller": evacuateByKubeVirt,
  kubelet: sweep,
  /** kube-controller-manager, on deletions that did not come. */
  "condition reset": (cluster) => {
    for (const pod of cluster.pods.all()) {
      if (pod.disruptionTarget?.active !== true) continue;
      cluster.pods.put({ ...pod, disruptionTarget: { ...pod.disruptionTarget, active: false } });
    }
  },
} as const satisfies Record<string, (cluster: SimulatedCluster) => void>;
