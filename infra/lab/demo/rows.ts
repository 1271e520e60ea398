/** The story of each virtual machine on the drained node: what was decided about it and why, and where it is now. */
import { mayStop } from "./summary.ts";
import type { MigrationView, VirtualMachine, World } from "../stage/world.ts";

export type Mood = "idle" | "refused" | "waiting" | "moving" | "moved" | "stopped" | "lost";

export interface Row {
  readonly vm: string;
  readonly strategy: string;
  readonly migratable: boolean;
  readonly decision: string;
  readonly now: string;
  /** Of the migration that is under way. */
  readonly phase?: string;
  readonly mood: Mood;
}

const FINAL = new Set(["Succeeded", "Failed"]);

/** One row for each VM that was on the node before the drain, in the order of their names. */
export function rowsOf(before: World, now: World, node: string): readonly Row[] {
  return [...before.vmis.values()]
    .filter((vmi) => vmi.nodeName === node)
    .toSorted((a, b) => a.key.localeCompare(b.key))
    .map((vmi) => rowOf(vmi, now));
}

function rowOf(before: VirtualMachine, world: World): Row {
  const vmi = world.vmis.get(before.uid);
  return {
    vm: before.key,
    strategy: before.strategy,
    migratable: (vmi ?? before).pinnedBecause === undefined,
    decision: decisionOf(before, vmi, world),
    ...placeOf(before, vmi, world),
  };
}

type Why = { readonly before: VirtualMachine; readonly because: string };

/** What Lifeboat decided, by the reason of the Event that tells it; the why is the strategy, or KubeVirt's own reason. */
const DECISIONS: Readonly<Record<string, (why: Why) => string>> = {
  EvacuationTriggered: evacuate,
  EvacuationAdopted: evacuate,
  EvictionRefused: ({ because }) => `refuse: ${because}`,
  ShutdownByStrategy: ({ because }) => `shut down: ${because}`,
};

function evacuate({ before }: Why): string {
  return before.strategy === "External" ? "leave to its owner" : "evacuate";
}

function decisionOf(before: VirtualMachine, vmi: VirtualMachine | undefined, world: World): string {
  // The mark is seen before the Event that tells of it.
  const reason = vmi?.marked === true ? "EvacuationTriggered" : lastDecision(before.uid, world);
  const decision = DECISIONS[reason ?? ""];
  if (decision !== undefined) return decision({ before, because: before.pinnedBecause ?? "" });
  return before.strategy === "None" && isLeaving(vmi, world) ? "allow" : "";
}

function lastDecision(uid: string, world: World): string | undefined {
  return [...world.events.values()].findLast((event) => event.uid === uid && event.reason in DECISIONS)?.reason;
}

export type Place = Pick<Row, "now" | "phase" | "mood">;

export function placeOf(before: VirtualMachine, vmi: VirtualMachine | undefined, world: World): Place {
  if (vmi === undefined || FINAL.has(vmi.phase)) {
    return mayStop(before, vmi) ? { now: "shut down", mood: "stopped" } : { now: "LOST", mood: "lost" };
  }
  const migration = lastMigration(vmi, world);
  if (migration !== undefined && !FINAL.has(migration.phase)) return moving(before, vmi, migration);
  if (vmi.nodeName !== before.nodeName) return { now: `on ${vmi.nodeName}`, mood: "moved" };
  if (isLeaving(vmi, world)) return { now: "shutting down", mood: "stopped" };
  return staying(vmi, migration, world);
}

function moving(before: VirtualMachine, { targetNode = "…" }: VirtualMachine, { phase }: MigrationView): Place {
  return { now: `${before.nodeName} → ${targetNode}`, phase, mood: "moving" };
}

function staying(vmi: VirtualMachine, migration: MigrationView | undefined, world: World): Place {
  if (migration?.phase === "Failed") return { now: "migration failed, will retry", mood: "waiting" };
  if (vmi.marked) return { now: `waits for its ${vmi.strategy === "External" ? "owner" : "turn"}`, mood: "waiting" };
  const refused = lastDecision(vmi.uid, world) === "EvictionRefused";
  return refused ? { now: "stays, running", mood: "refused" } : { now: "running", mood: "idle" };
}

function lastMigration(vmi: VirtualMachine, world: World): MigrationView | undefined {
  return [...world.migrations.values()]
    .filter((migration) => migration.vmi === vmi.key)
    .toSorted((a, b) => a.createdAt.localeCompare(b.createdAt))
    .at(-1);
}

/** The VMI, or the launcher pod that holds its guest, is being deleted, or already gone. */
function isLeaving(vmi: VirtualMachine | undefined, world: World): boolean {
  if (vmi === undefined || vmi.deleting || FINAL.has(vmi.phase)) return true;
  return ![...world.pods.values()].some(
    (pod) => pod.launcherOf === vmi.uid && pod.nodeName === vmi.nodeName && !pod.deleting,
  );
}

export interface NodeLine {
  readonly name: string;
  readonly cordoned: boolean;
  readonly troubles: readonly string[];
  readonly vms: number;
  /** Of these, those that are asked to leave. */
  readonly leaving: number;
  readonly pods: number;
}

/** How full each node is: running VMs, and ordinary pods. */
export function nodeLines(world: World): readonly NodeLine[] {
  return [...world.nodes.values()]
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .map(({ name, cordoned, troubles }) => ({
      name,
      cordoned,
      troubles,
      vms: count(world.vmis, (vmi) => vmi.nodeName === name && vmi.phase === "Running"),
      leaving: count(world.vmis, (vmi) => vmi.nodeName === name && vmi.phase === "Running" && vmi.marked),
      pods: count(world.pods, (pod) => pod.nodeName === name && pod.launcherOf === undefined && !pod.deleting),
    }));
}

function count<T>(map: ReadonlyMap<string, T>, wanted: (value: T) => boolean): number {
  return [...map.values()].filter(wanted).length;
}

/** Nothing more will happen to it: it has moved, or its guest has ended. */
export function isAtRest({ mood, now }: Row): boolean {
  return mood === "moved" || mood === "lost" || now === "shut down";
}

/** Whether the only VMs left on the node are those whose strategy keeps them there. */
export function onlyRefusedRemain(rows: readonly Row[]): boolean {
  const open = rows.filter((row) => !isAtRest(row));
  return open.length > 0 && open.every(({ mood }) => mood === "refused");
}
