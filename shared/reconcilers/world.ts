/**
 * Observing: the facts that reconcilers decide on, read once a pass.
 * Owns: what is read, and in which order. Does not own: what follows from it (shared/policy).
 *
 * The order matters. Slots before migrations: a slot missing from both was free. Budgets before VMIs: a budget whose VMI
 * is missing has none. VMIs before migrations: a VMI that has moved is not taken for one whose migration failed.
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { BudgetWorld } from "../policy/budget.ts";
import type { BudgetFacts, MigrationFacts, NamespacedName, VmiFacts } from "../policy/facts.ts";
import { isFinal, keyOf } from "../policy/facts.ts";
import { candidatesOf, type EvacuationWorld } from "../policy/evacuation.ts";
import type { Settings } from "../policy/settings.ts";

export type World = EvacuationWorld & BudgetWorld;

/** `All`: every VMI of the cluster. Else: those that carry the evacuation label, and these. */
export type Scope = "All" | readonly NamespacedName[];

interface Observer {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly now: Date;
}

export async function observe(scope: Scope, observer: Observer): Promise<World> {
  const partial = scope === "All" ? await observeAll(observer) : await observeEvacuating(scope, observer);
  const known = { ...partial, settings: observer.settings, now: observer.now, complete: scope === "All" };
  const counted = candidatesOf(known).map(
    async (vmi) => [vmi.uid, await observer.cluster.countActivePods(vmi)] as const,
  );
  return { ...known, activePods: new Map(await Promise.all(counted)) };
}

type Observed = Omit<World, "settings" | "now" | "complete" | "activePods">;

const NOTHING: Observed = { register: { slots: [] }, vmis: [], budgets: [], migrations: [], tainted: new Set() };

async function observeAll({ cluster, settings }: Observer): Promise<Observed> {
  const register = await cluster.getSlots();
  const budgets = await cluster.listBudgets();
  const [vmis, nodes] = await Promise.all([cluster.listVmis("All"), cluster.listNodes()]);
  const migrations = await cluster.listMigrations();
  const tainted = new Set(nodes.filter((node) => carries(node.taints, settings)).map((node) => node.name));
  const nodeOf = new Map(vmis.map((vmi) => [keyOf(vmi), vmi.nodeName]));
  return { register, budgets, vmis, tainted, migrations: migrations.map((m) => located(m, nodeOf)) };
}

async function observeEvacuating(named: readonly NamespacedName[], observer: Observer): Promise<Observed> {
  const { cluster, settings } = observer;
  // With nothing under way there is nothing to read: an idle tick costs one request.
  if (named.length === 0 && !(await cluster.isAnyEvacuating())) return NOTHING;
  const register = await cluster.getSlots();
  const [listed, ...found] = await Promise.all([
    cluster.listVmis("Evacuating"),
    ...named.map((key) => cluster.getVmi(key)),
  ]);
  const present = found.filter((vmi) => vmi !== undefined);
  const vmis = [...new Map([...listed, ...present].map((vmi) => [vmi.uid, vmi])).values()];
  const [budgets, tainted] = await Promise.all([budgetsAround(vmis, cluster), taintedAmong(vmis, cluster, settings)]);
  const migrations = await cluster.listMigrations();
  return { register, vmis, budgets, tainted, migrations: await locate(migrations, vmis, cluster) };
}

async function budgetsAround(vmis: readonly VmiFacts[], cluster: Cluster): Promise<readonly BudgetFacts[]> {
  const namespaces = [...new Set(vmis.map((vmi) => vmi.namespace))];
  return (await Promise.all(namespaces.map((namespace) => cluster.listBudgets(namespace)))).flat();
}

/** Only an evacuation that the taint began depends on it. New ones begin with a look at everything. */
async function taintedAmong(vmis: readonly VmiFacts[], cluster: Cluster, settings: Settings): Promise<Set<string>> {
  const begun = vmis.flatMap((vmi) => (vmi.record?.cause === "DrainTaint" && vmi.nodeName ? [vmi.nodeName] : []));
  const nodes = await Promise.all([...new Set(begun)].map((name) => cluster.getNode(name)));
  return new Set(nodes.flatMap((node) => (node && carries(node.taints, settings) ? [node.name] : [])));
}

/** Upstream: only the effect NoSchedule counts. */
export function carries(taints: readonly { key: string; effect: string }[], { drainTaintKey }: Settings): boolean {
  return taints.some((taint) => taint.key === drainTaintKey && taint.effect === "NoSchedule");
}

/** A migration that has hardly begun does not tell which node it leaves: then it is the one its VMI is on. */
async function locate(migrations: readonly MigrationFacts[], vmis: readonly VmiFacts[], cluster: Cluster) {
  const nodeOf = new Map(vmis.map((vmi) => [keyOf(vmi), vmi.nodeName]));
  const lost = migrations.filter((m) => !isFinal(m) && !hasSource(m) && !nodeOf.has(keyOf(vmiKey(m))));
  for (const m of lost) nodeOf.set(keyOf(vmiKey(m)), (await cluster.getVmi(vmiKey(m)))?.nodeName);
  return migrations.map((m) => located(m, nodeOf));
}

function hasSource(m: MigrationFacts): boolean {
  return m.sourceNode !== undefined || m.evacuates !== undefined;
}

function vmiKey(m: MigrationFacts): NamespacedName {
  return { namespace: m.namespace, name: m.vmiName };
}

function located(m: MigrationFacts, nodeOf: ReadonlyMap<string, string | undefined>): MigrationFacts {
  const sourceNode = hasSource(m) || isFinal(m) ? undefined : nodeOf.get(keyOf(vmiKey(m)));
  return sourceNode === undefined ? m : { ...m, sourceNode };
}
