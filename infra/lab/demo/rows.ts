/** Shows where each VM and each relevant pod is now, in both clusters. */
import { guestRuns, isRestarted, mayStop, successorOf } from "../stage/fates.ts";
import type { MigrationView, VirtualMachine, World } from "../stage/world.ts";
import type { Pair } from "./clusters.ts";
import type { Act } from "./scenario.ts";

export type Mood = "idle" | "refused" | "waiting" | "moving" | "moved" | "stopped" | "lost";

export interface Place {
  readonly now: string;
  readonly mood: Mood;
}

export interface Row extends Pair<Place> {
  readonly name: string;
}

const FINAL = new Set(["Succeeded", "Failed"]);
const ABSENT: Place = { now: "", mood: "idle" };

export function rowsOf(
  before: Pair<World>,
  now: Pair<World>,
  { nodes, pods }: Pick<Act, "nodes" | "pods">,
): readonly Row[] {
  const vms = [...before.withIt.vmis.values()].filter((vmi) => runsOnOneOf(nodes, vmi)).map(({ key }) => key);
  const rowOf = (name: string, place: (name: string, before: World, now: World) => Place): Row => ({
    name,
    without: place(name, before.without, now.without),
    withIt: place(name, before.withIt, now.withIt),
  });
  return [...vms.toSorted().map((name) => rowOf(name, placeOfVm)), ...pods.map((name) => rowOf(name, placeOfPod))];
}

function placeOfVm(name: string, before: World, now: World): Place {
  const was = [...before.vmis.values()].find(({ key }) => key === name);
  if (was === undefined) return ABSENT;
  const vmi = now.vmis.get(was.uid);
  if (vmi === undefined || FINAL.has(vmi.phase)) return placeOfEnded(was, vmi, now);
  const migration = lastMigration(vmi, now);
  if (migration !== undefined && !FINAL.has(migration.phase))
    return { now: `${was.nodeName} → ${vmi.targetNode ?? "…"} ${migration.phase}`, mood: "moving" };
  if (vmi.nodeName !== was.nodeName) return { now: `on ${vmi.nodeName}`, mood: "moved" };
  if (isLeaving(vmi, now)) return { now: "shutting down", mood: "stopped" };
  return whereItStays(vmi, migration, now);
}

function placeOfEnded(was: VirtualMachine, vmi: VirtualMachine | undefined, now: World): Place {
  if (!isRestarted(was, now))
    return mayStop(was, vmi) ? { now: "shut down", mood: "stopped" } : { now: "LOST", mood: "lost" };
  const again = successorOf(was, now);
  const isUp = guestRuns(again, now);
  return isUp
    ? { now: `restarted on ${again?.nodeName}`, mood: "moved" }
    : { now: "restarts elsewhere", mood: "moving" };
}

function whereItStays(vmi: VirtualMachine, migration: MigrationView | undefined, now: World): Place {
  if (migration?.phase === "Failed") return { now: "migration failed, will retry", mood: "waiting" };
  if (vmi.marked) return { now: "waits for its turn", mood: "waiting" };
  return isRefused(vmi, now)
    ? { now: "eviction refused, still running", mood: "refused" }
    : { now: "running", mood: "idle" };
}

function isRefused({ uid }: VirtualMachine, { events }: World): boolean {
  return [...events.values()].some((event) => event.uid === uid && event.reason === "EvictionRefused");
}

function lastMigration({ key }: VirtualMachine, { migrations }: World): MigrationView | undefined {
  const own = [...migrations.values()].filter(({ vmi }) => vmi === key);
  return own.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt)).at(-1);
}

function isLeaving(vmi: VirtualMachine, { pods }: World): boolean {
  const isThere = [...pods.values()].some(
    (pod) => pod.launcherOf === vmi.uid && pod.nodeName === vmi.nodeName && !pod.deleting,
  );
  return vmi.deleting || !isThere;
}

function placeOfPod(name: string, before: World, now: World): Place {
  const was = [...before.pods.values()].find(({ key }) => key === name);
  const pod = [...now.pods.values()].find(({ key }) => key === name);
  if (pod === undefined) return was === undefined ? ABSENT : { now: "gone", mood: "stopped" };
  if (pod.deleting) return { now: "ending", mood: "stopped" };
  if (pod.nodeName === undefined) return { now: "waits for a node", mood: "waiting" };
  return { now: `on ${pod.nodeName}`, mood: was === undefined ? "moved" : "idle" };
}

const IN_MOTION: ReadonlySet<Mood> = new Set(["waiting", "moving"]);
const ENDING: ReadonlySet<string> = new Set(["ending", "shutting down"]);

export function isAtRest(rows: readonly Row[]): boolean {
  return rows.every(({ without, withIt }) =>
    [without, withIt].every(({ mood, now }) => !IN_MOTION.has(mood) && !ENDING.has(now)),
  );
}

export function runsOnOneOf(nodes: readonly string[], { nodeName }: VirtualMachine): boolean {
  return nodeName !== undefined && nodes.includes(nodeName);
}

export function vmsOn(node: string, { vmis }: World): number {
  return [...vmis.values()].filter((vmi) => vmi.nodeName === node && vmi.phase === "Running").length;
}

export function troublesOf(node: string, { nodes }: World): readonly string[] {
  return [...nodes.values()].find(({ name }) => name === node)?.troubles ?? [];
}
