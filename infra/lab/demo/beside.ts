/** What one disruption does to two clusters, side by side: where each virtual machine and each pod that matters is now. */
import { placeOf, type Mood, type Place } from "./rows.ts";
import type { Pair } from "./stage.ts";
import type { World } from "../stage/world.ts";

export interface BesideRow extends Pair<Place> {
  readonly name: string;
}

export interface Cast {
  /** The node that the disruption is about. */
  readonly node: string;
  /** Keys of the ordinary pods worth watching, whether they are there yet or not. */
  readonly pods: readonly string[];
}

const ABSENT: Place = { now: "", mood: "idle" };

export function besideRows(before: Pair<World>, now: Pair<World>, { node, pods }: Cast): readonly BesideRow[] {
  const vms = [...before.withIt.vmis.values()].filter((vmi) => vmi.nodeName === node).map(({ key }) => key);
  const rowOf = (name: string, place: (name: string, before: World, now: World) => Place): BesideRow => ({
    name,
    without: place(name, before.without, now.without),
    withIt: place(name, before.withIt, now.withIt),
  });
  return [...vms.toSorted().map((name) => rowOf(name, placeOfVm)), ...pods.map((name) => rowOf(name, placeOfPod))];
}

function placeOfVm(name: string, before: World, now: World): Place {
  const vmi = [...before.vmis.values()].find(({ key }) => key === name);
  return vmi === undefined ? ABSENT : placeOf(vmi, now.vmis.get(vmi.uid), now);
}

function placeOfPod(name: string, before: World, now: World): Place {
  const was = [...before.pods.values()].find(({ key }) => key === name);
  const pod = [...now.pods.values()].find(({ key }) => key === name);
  if (pod === undefined) return was === undefined ? ABSENT : { now: "gone", mood: "stopped" };
  if (pod.deleting) return { now: "ending", mood: "stopped" };
  if (pod.nodeName === undefined) return { now: "waits for a place", mood: "waiting" };
  return { now: `on ${pod.nodeName}`, mood: was === undefined ? "moved" : "idle" };
}

const IN_MOTION: ReadonlySet<Mood> = new Set(["waiting", "moving"]);

/** Nothing is in progress in either cluster. */
export function isAtRest(rows: readonly BesideRow[]): boolean {
  return rows.every(({ without, withIt }) => {
    return [without, withIt].every(({ mood, now }) => !IN_MOTION.has(mood) && !ENDING.has(now));
  });
}

const ENDING: ReadonlySet<string> = new Set(["ending", "shutting down"]);

/** How many VMs run on a node. */
export function vmsOn(node: string, { vmis }: World): number {
  return [...vmis.values()].filter((vmi) => vmi.nodeName === node && vmi.phase === "Running").length;
}

export function troublesOf(node: string, { nodes }: World): readonly string[] {
  return [...nodes.values()].find(({ name }) => name === node)?.troubles ?? [];
}

/** What is worth repeating of all that is told in a cluster. */
const NOTEWORTHY: ReadonlySet<string> = new Set([
  "Preempted",
  "TaintManagerEviction",
  "Evicted",
  "EvictionThresholdMet",
  "NodeHasMemoryPressure",
  "NodeHasInsufficientMemory",
  "NodeHasSufficientMemory",
  "DeletionRefused",
  "DisruptionSeen",
  "DeletionAllowed",
  "NodeUnderPressure",
]);

export function noteworthy(before: World, { events }: World): readonly string[] {
  return [...events].flatMap(([uid, { reason, message }]) =>
    NOTEWORTHY.has(reason) && !before.events.has(uid) ? [message] : [],
  );
}
