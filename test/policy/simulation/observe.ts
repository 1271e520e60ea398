/**
 * How a pass observes a simulated cluster: between any two answers, other functions and the cluster go on.
 * Owns: what is read, in the order of the real pass (shared/reconcilers/world.ts). Does not own: what follows from it
 * (pass.ts), what can go wrong with a request (requests.ts).
 */
import type { BudgetWorld } from "../../../shared/policy/budget.ts";
import type { PressureWorld } from "../../../shared/policy/pressure.ts";
import { type AnnotationWorld, isAnnotating } from "../../../shared/policy/descheduler-annotations.ts";
import { type DisruptionWorld, drivenOf, untaintedOf } from "../../../shared/policy/disruption.ts";
import { candidatesOf, type EvacuationWorld } from "../../../shared/policy/evacuation.ts";
import type { Counters } from "../../../shared/policy/counters.ts";
import { keyOf, type NodeFacts, type VmiFacts } from "../../../shared/policy/facts.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { nodesOf } from "./control-plane.ts";
import { type Pressure, pressureOf } from "./pressure.ts";
import { FAILED, read, type Steps } from "./requests.ts";
import { both, type Turn, turnsOf } from "./together.ts";

export type World = EvacuationWorld & BudgetWorld & DisruptionWorld & PressureWorld & AnnotationWorld;

/**
 * `All`: a full scan. Else what the Worker looks at after every answer of its doors: VMIs that carry the evacuation label,
 * and those pointed at, by their place among all.
 */
export type Scope = "All" | readonly number[];

export interface Observing {
  readonly scope?: Scope;
  /** The counters cannot be read just now. */
  readonly unseen?: boolean;
  /** By how much the clock of the function that passes is fast. */
  readonly skewMs?: number;
  /** Tells in which order requests are answered that are under way at the same time. */
  readonly turns?: number;
}

/** Everything at one moment. */
export function look(cluster: SimulatedCluster): World {
  const { register, settings, now } = cluster;
  const around = { pods: cluster.pods.all(), nodes: nodesOf(cluster) };
  return {
    register,
    counters: countersOf(cluster),
    settings,
    now,
    activePods: cluster.pods.active(),
    budgets: [...cluster.budgets.values()],
    vmis: [...cluster.vmis.values()],
    migrations: [...cluster.migrations.values()],
    tainted: new Set(cluster.tainted),
    complete: true,
    launchers: cluster.pods.launchers(),
    ...around,
    untainted: untaintedOf({ vmis: [...cluster.vmis.values()], settings, ...around }),
    ...pressureOf(cluster, around.nodes, []),
  };
}

function countersOf({ countersAre, counters }: SimulatedCluster): Counters {
  return countersAre === "forbidden" ? "Off" : counters;
}

type Seen = Omit<World, "settings" | "now" | "complete" | "activePods" | "launchers" | "untainted" | keyof Pressure> & {
  /** VMIs whose guest is being ended, as somebody has said. */
  readonly ending: readonly VmiFacts[];
};

export function* observe(cluster: SimulatedCluster, options: Observing): Steps<World | typeof FAILED> {
  const { scope = "All", unseen = false, skewMs = 0, turns = 0 } = options;
  const now = new Date(cluster.now.getTime() + skewMs);
  const turn = turnsOf(turns);
  const seen = scope === "All" ? yield* everything(cluster, turn) : yield* evacuating(cluster, scope, turn);
  if (seen === FAILED) return FAILED;
  const { settings } = cluster;
  const complete = scope === "All";
  const driven = drivenOf({ vmis: seen.vmis, settings });
  const late = yield* both(
    turn,
    read(cluster, (c) => driven.flatMap((vmi) => c.pods.of(vmi))),
    read(cluster, (c) => nodesNamed(c, driven)),
  );
  if (late === FAILED) return FAILED;
  const around = { pods: [...late[0], ...seen.pods], nodes: [...late[1], ...seen.nodes] };
  const untainted = untaintedOf({ vmis: seen.vmis, settings, ...around });
  const counters = unseen ? ("Unseen" as const) : seen.counters;
  const known = { ...seen, ...around, untainted, settings, now, complete, counters };
  const candidates = candidatesOf(known);
  const others = both(
    turn,
    read(cluster, (c) => launchersOf(c, known)),
    read(cluster, (c) => pressureOf(c, [...known.nodes, ...nodesLeft(c, known)], known.ending)),
  );
  const counted = read(cluster, (c) => new Map(candidates.map(({ uid }) => [uid, c.pods.active().get(uid) ?? 0])));
  const last = yield* both(turn, counted, others);
  if (last === FAILED) return FAILED;
  const [activePods, [launchers, pressure]] = last;
  return { ...known, ...pressure, activePods, launchers };
}

function* everything(cluster: SimulatedCluster, turn: Turn): Steps<Seen | typeof FAILED> {
  const registers = yield* both(
    turn,
    read(cluster, (c) => c.register),
    read(cluster, countersOf),
  );
  if (registers === FAILED) return FAILED;
  const budgets = yield* read(cluster, (c) => [...c.budgets.values()]);
  if (budgets === FAILED) return FAILED;
  const located = yield* both(
    turn,
    read(cluster, (c) => [...c.vmis.values()]),
    read(cluster, (c) => ({ nodes: nodesOf(c), tainted: new Set(c.tainted) })),
  );
  if (located === FAILED) return FAILED;
  const migrations = yield* read(cluster, (c) => [...c.migrations.values()]);
  if (migrations === FAILED) return FAILED;
  const [[register, counters], [vmis, around]] = [registers, located];
  return { register, counters, budgets, vmis, ...around, migrations, pods: [], ending: [] };
}

const NOTHING: Seen = {
  register: { slots: [] },
  counters: "Off",
  vmis: [],
  budgets: [],
  migrations: [],
  tainted: new Set(),
  pods: [],
  nodes: [],
  ending: [],
};

function* evacuating(cluster: SimulatedCluster, places: readonly number[], turn: Turn): Steps<Seen | typeof FAILED> {
  const pointed = pointedAt(cluster, places);
  if (pointed.length === 0) {
    const any = yield* read(cluster, (c) => labelled(c).length > 0);
    if (any !== true) return any === FAILED ? FAILED : NOTHING;
  }
  const registers = yield* both(
    turn,
    read(cluster, (c) => c.register),
    read(cluster, countersOf),
  );
  if (registers === FAILED) return FAILED;
  const pods = yield* read(cluster, (c) => pointed.flatMap((vmi) => c.pods.of(vmi)));
  if (pods === FAILED) return FAILED;
  // Whoever points at a VM on a node under pressure points at the node as well, and says that its kubelet ends the guest.
  const ended = pointed.filter(({ nodeName }) => cluster.pressed.has(nodeName ?? ""));
  const nodes = yield* read(cluster, (c) => nodesNamed(c, [...pods.filter((pod) => pod.deleting), ...ended]));
  if (nodes === FAILED) return FAILED;
  const found = yield* both(
    turn,
    read(cluster, labelled),
    read(cluster, (c) => pointed.flatMap((vmi) => c.vmis.get(keyOf(vmi)) ?? [])),
  );
  if (found === FAILED) return FAILED;
  const vmis = [...new Map(found.flat().map((vmi) => [vmi.uid, vmi])).values()];
  const around = yield* both(
    turn,
    read(cluster, ({ budgets }) =>
      [...budgets.values()].filter(({ namespace }) => vmis.some((vmi) => vmi.namespace === namespace)),
    ),
    read(cluster, (c) => taintedAmong(c, vmis)),
  );
  if (around === FAILED) return FAILED;
  const migrations = yield* read(cluster, (c) => [...c.migrations.values()]);
  if (migrations === FAILED) return FAILED;
  const [[register, counters], [budgets, tainted]] = [registers, around];
  const ending = vmis.filter((vmi) => ended.some(({ uid }) => uid === vmi.uid));
  return { register, counters, vmis, budgets, tainted, pods, nodes, migrations, ending };
}

function pointedAt({ vmis }: SimulatedCluster, places: readonly number[]): readonly VmiFacts[] {
  const all = [...vmis.values()];
  return all.filter((_, i) => places.some((place) => place % all.length === i));
}

function labelled({ vmis }: SimulatedCluster): readonly VmiFacts[] {
  return [...vmis.values()].filter(({ evacuationLabel }) => evacuationLabel !== undefined);
}

function taintedAmong({ tainted }: SimulatedCluster, vmis: readonly VmiFacts[]): ReadonlySet<string> {
  const begun = vmis.flatMap(({ record, nodeName }) => (record?.cause === "DrainTaint" && nodeName ? [nodeName] : []));
  return new Set(begun.filter((node) => tainted.has(node)));
}

/** Those that VMs leave, or have just left, because of pressure, and that are not known yet. */
function nodesLeft(cluster: SimulatedCluster, { vmis, nodes }: Pick<Seen, "vmis" | "nodes">): readonly NodeFacts[] {
  const left = vmis.flatMap(({ record }) => (record?.cause === "NodePressure" ? [{ nodeName: record.node }] : []));
  return nodesNamed(cluster, left).filter(({ name }) => nodes.every((known) => known.name !== name));
}

function nodesNamed(cluster: SimulatedCluster, on: readonly { readonly nodeName?: string }[]): readonly NodeFacts[] {
  return nodesOf(cluster).filter(({ name }) => on.some(({ nodeName }) => nodeName === name));
}

function launchersOf({ pods }: SimulatedCluster, known: Pick<World, "vmis" | "settings" | "complete">) {
  if (!isAnnotating(known.settings)) return [];
  const uids = new Set(known.vmis.map(({ uid }) => uid));
  return pods.launchers().filter(({ vmiUID }) => uids.has(vmiUID) || (known.complete && uids.size > 0));
}
