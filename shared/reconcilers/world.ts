/**
 * Observing: the facts that reconcilers decide on, read once a pass.
 * Owns: what is read, and in which order. Does not own: what follows from it (shared/policy).
 *
 * The order matters. Slots before migrations: a slot missing from both was free. Counters before VMIs: whatever was counted
 * and is gone from its VMI since makes the write fail. Budgets before VMIs: a budget whose VMI is missing has none. VMIs
 * before migrations: a VMI that has moved is not taken for one whose migration failed.
 */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError } from "../cluster/failure.ts";
import type { BudgetWorld } from "../policy/budget.ts";
import type { Counters } from "../policy/counters.ts";
import { type AnnotationWorld, isAnnotating } from "../policy/descheduler-annotations.ts";
import { type DisruptionWorld, drivenOf, untaintedOf } from "../policy/disruption.ts";
import { candidatesOf, type EvacuationWorld } from "../policy/evacuation.ts";
import type { LauncherFacts, NamespacedName, PodFacts, VmiFacts } from "../policy/facts.ts";
import { keyOf } from "../policy/facts.ts";
import { vmiNameOf } from "../policy/pod-kind.ts";
import type { PressureWorld } from "../policy/pressure.ts";
import type { Settings } from "../policy/settings.ts";
import { budgetsAround, carries, located, locate, taintedAmong } from "./around.ts";
import type { Observer } from "./observer.ts";
import type { Pointer } from "./pointer.ts";
import { observePressure } from "./pressure-world.ts";

export type World = EvacuationWorld & BudgetWorld & DisruptionWorld & PressureWorld & AnnotationWorld;

/** `All`: every VMI of the cluster. Else: those that carry the evacuation label, and what the pointers lead to. */
export type Scope = "All" | readonly Pointer[];

export async function observe(scope: Scope, observer: Observer): Promise<World> {
  const seen = scope === "All" ? await observeAll(observer) : await observeEvacuating(scope, observer);
  const { settings, now, cluster } = observer;
  const known = await withTaints({ ...seen, settings, now, complete: scope === "All" }, cluster);
  const [counted, pressure, launchers] = await Promise.all([
    Promise.all(candidatesOf(known).map(async (vmi) => [vmi.uid, await cluster.countActivePods(vmi)] as const)),
    observePressure({ ...seen, pointers: scope === "All" ? [] : scope }, observer),
    observeLaunchers(known, cluster),
  ]);
  return { ...known, ...pressure, launchers, activePods: new Map(counted) };
}

type Observed = Omit<
  World,
  "settings" | "now" | "complete" | "activePods" | "launchers" | "untainted" | keyof PressureWorld
>;

const NOTHING: Observed = {
  register: { slots: [] },
  counters: "Off",
  vmis: [],
  budgets: [],
  migrations: [],
  tainted: new Set(),
  pods: [],
  nodes: [],
};

async function observeAll(observer: Observer): Promise<Observed> {
  const { cluster, settings } = observer;
  const [register, counters] = await Promise.all([cluster.getSlots(), observeCounters(observer)]);
  const budgets = await cluster.listBudgets();
  const [vmis, nodes] = await Promise.all([cluster.listVmis("All"), cluster.listNodes()]);
  const migrations = await cluster.listMigrations();
  const tainted = new Set(nodes.filter((node) => carries(node.taints, settings)).map((node) => node.name));
  const nodeOf = new Map(vmis.map((vmi) => [keyOf(vmi), vmi.nodeName]));
  const around = { nodes, tainted, pods: [], migrations: migrations.map((m) => located(m, nodeOf)) };
  return { register, counters, budgets, vmis, ...around };
}

/** Counting is in nobody's way: if the counters cannot be read just now, all the rest goes on. */
async function observeCounters({ cluster, onFailure }: Observer): Promise<Counters> {
  try {
    return await cluster.getCounters();
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure?.("counters", error);
    return "Unseen";
  }
}

async function observeEvacuating(pointers: readonly Pointer[], observer: Observer): Promise<Observed> {
  const { cluster, settings } = observer;
  // With nothing under way there is nothing to read: an idle tick costs one request.
  if (pointers.length === 0 && !(await cluster.isAnyEvacuating())) return NOTHING;
  const [register, counters] = await Promise.all([cluster.getSlots(), observeCounters(observer)]);
  const { pods, nodes, keys } = await follow(pointers, cluster);
  const [listed, ...found] = await Promise.all([
    cluster.listVmis("Evacuating"),
    ...keys.map((key) => cluster.getVmi(key)),
  ]);
  const present = found.filter((vmi) => vmi !== undefined);
  const vmis = [...new Map([...listed, ...present].map((vmi) => [vmi.uid, vmi])).values()];
  const [budgets, tainted] = await Promise.all([budgetsAround(vmis, cluster), taintedAmong(vmis, cluster, settings)]);
  const migrations = await cluster.listMigrations();
  const around = { budgets, tainted, pods, nodes, migrations: await locate(migrations, vmis, cluster) };
  return { register, counters, vmis, ...around };
}

/** What the pointers lead to: pods and nodes as they are now, and the VMIs to read. */
async function follow(pointers: readonly Pointer[], cluster: Cluster) {
  const pods = await Promise.all(
    pointers.flatMap((p) => (p.kind === "Pod" || p.kind === "EndingPod" ? [cluster.getPod(p)] : [])),
  );
  const found = pods.filter((pod) => pod !== undefined);
  // Whether there is anything left to save depends on the node of a pod that terminates.
  const terminating = found.flatMap((pod) => (pod.deleting && pod.nodeName !== undefined ? [pod.nodeName] : []));
  const pointed = pointers.flatMap((p) => (p.kind === "Node" ? [p.name] : []));
  const nodes = await Promise.all([...new Set([...pointed, ...terminating])].map((name) => cluster.getNode(name)));
  const named = pointers.flatMap((p) => (p.kind === "VirtualMachineInstance" || p.kind === "Domain" ? [p] : []));
  const keys = new Map([...named, ...found.flatMap(vmiKeyOf)].map((key) => [keyOf(key), key]));
  return { pods: found, nodes: nodes.filter((node) => node !== undefined), keys: [...keys.values()] };
}

function vmiKeyOf(pod: PodFacts): readonly NamespacedName[] {
  const name = vmiNameOf(pod);
  return name === undefined ? [] : [{ namespace: pod.namespace, name }];
}

/** With the pods and nodes of VMIs under evacuation for a NoExecute taint, and which of them it has left. */
async function withTaints<T extends Pick<World, "vmis" | "pods" | "nodes" | "settings">>(
  known: T,
  cluster: Cluster,
): Promise<T & Pick<World, "untainted">> {
  const driven = drivenOf(known);
  const names = [...new Set(driven.flatMap((vmi) => vmi.nodeName ?? []))];
  const [found, read] = await Promise.all([
    Promise.all(driven.map((vmi) => cluster.listPodsOf(vmi))),
    Promise.all(names.map((name) => cluster.getNode(name))),
  ]);
  // What was read later comes first.
  const pods = [...found.flat(), ...known.pods];
  const nodes = [...read.filter((node) => node !== undefined), ...known.nodes];
  return { ...known, pods, nodes, untainted: untaintedOf({ ...known, pods, nodes }) };
}

/** Not where they are not to be annotated: there is one for every VMI. */
async function observeLaunchers(
  known: { readonly vmis: readonly VmiFacts[]; readonly settings: Settings; readonly complete: boolean },
  cluster: Cluster,
): Promise<readonly LauncherFacts[]> {
  if (!isAnnotating(known.settings) || known.vmis.length === 0) return [];
  return await cluster.listLaunchers(known.complete ? "All" : known.vmis);
}
