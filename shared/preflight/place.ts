/**
 * Places several pods one after another, each on the node that kube-scheduler would choose. If the order of the VMs is
 * unknown, the largest VM is placed first.
 */
import { CREATED_BY_LABEL, MIGRATION_JOB_LABEL } from "../kube/names.ts";
import { isFinal, isLauncher, keyOf, launcherOfHotplug, vmiNameOf } from "../kube/objects.ts";
import type { VmiFacts } from "../kube/facts.ts";
import type { Labels } from "../kube/scheduled-pod.ts";
import type { Leaving, NeighbourPod, PreflightFacts, PreflightPod, RoomFound } from "./facts.ts";
import { type Board, boardOf, leave, place, podsAmong, podsLike, presentOf } from "./board.ts";
import { type Around, type FitNode, obstacleTo, repelling } from "./fit.ts";
import { cpuText } from "./host-cpu.ts";
import { PREFLIGHT_MESSAGES as MESSAGES } from "./messages.ts";
import { type NextPod, renderTarget } from "./next-pod.ts";
import { bestOf } from "./score.ts";
import { unevenness } from "./spread.ts";

export interface Wanted extends NextPod<PreflightPod> {
  readonly there?: string | undefined;
}

/** Returns the replacement of an ordinary pod. The pod's controller creates it with the same spec. */
export function asItIs(pod: PreflightPod): Wanted {
  return { pod, cpu: {} };
}

type World = Pick<
  PreflightFacts,
  "node" | "otherNodes" | "otherPods" | "pods" | "volumes" | "scoring" | "lots" | "present"
>;

interface Seen extends World {
  readonly holders: readonly PreflightPod[];
  readonly labelsOf: ReadonlyMap<string, Labels>;
}

type Moving = World &
  Pick<PreflightFacts, "vmis" | "migrations" | "leavingElsewhere" | "settings"> & {
    readonly flags?: PreflightFacts["flags"];
  };

/**
 * Places the target pods of migrations in the order in which the VMs are asked to leave. VMs that are leaving other
 * nodes come first. While a target pod is placed, its source pod and all pods that have not left yet still use
 * resources. Returns the result for each pod, keyed by its UID.
 */
export function placeAll(moving: readonly PreflightPod[], f: Moving): ReadonlyMap<string, RoomFound> {
  const elsewhere = f.leavingElsewhere.flatMap((one) => targetsOf(one.pods.filter(isLauncher), one, f));
  const own = targetsOn(moving, f);
  const hotplug = f.leavingElsewhere.flatMap(({ pods }) => pods);
  return placeInTurn([...elsewhere.toSorted(largestFirst), ...own.toSorted(inOrder(f))], f, { hotplug });
}

export function targetsOn(pods: readonly PreflightPod[], f: Moving): readonly Wanted[] {
  return targetsOf(pods, f, f);
}

function targetsOf(
  pods: readonly PreflightPod[],
  { node, vmis, migrations }: Pick<Leaving, "node" | "vmis" | "migrations">,
  { otherPods, settings }: Pick<Moving, "otherPods" | "settings">,
): readonly Wanted[] {
  const known = new Map(vmis.map((vmi) => [keyOf(vmi), vmi]));
  return pods.map((pod): Wanted => {
    const vmi = known.get(keyOf({ ...pod, name: vmiNameOf(pod) ?? "" }));
    if (vmi === undefined) return asItIs(pod);
    return { ...renderTarget(pod, vmi, node, settings), there: targetPodIn(vmi, { migrations, otherPods })?.nodeName };
  });
}

type UnderWay = Pick<PreflightFacts, "migrations" | "otherPods">;

/** Returns the target pod of the current migration, if it is already on another node. */
export function targetPodIn(vmi: VmiFacts, { migrations, otherPods }: UnderWay): NeighbourPod | undefined {
  const isOf = (m: { readonly namespace: string; readonly vmiName: string }) =>
    m.namespace === vmi.namespace && m.vmiName === vmi.name;
  const jobs = new Set(migrations.filter((m) => isOf(m) && !isFinal(m)).map(({ uid }) => uid));
  if (jobs.size === 0) return undefined;
  const isIts = ({ namespace, labels }: NeighbourPod) =>
    namespace === vmi.namespace && jobs.has(labels[MIGRATION_JOB_LABEL] ?? "");
  return otherPods.find((pod) => isIts(pod) && !isFinal(pod) && !pod.deleting);
}

interface Before {
  readonly gone?: readonly PreflightPod[];
  readonly moved?: readonly NeighbourPod[];
  /** Hotplug pods of the VMs. They use volumes that the VMs' next pods need. */
  readonly hotplug?: readonly PreflightPod[];
}

/** Places pods one after another. Returns the result for each pod, keyed by its UID. */
export function placeInTurn(wanted: readonly Wanted[], w: World, before: Before = {}): ReadonlyMap<string, RoomFound> {
  if (wanted.length === 0) return new Map();
  const { hotplug = [] } = before;
  const holders = [...w.pods, ...hotplug].filter((pod) => launcherOfHotplug(pod) !== undefined);
  const labelsOf = new Map([w.node, ...w.otherNodes].map(({ name, labels }) => [name, labels]));
  const seen: Seen = { ...w, holders, labelsOf };
  const board = boardBefore(before, w);
  const found = new Map<string, RoomFound>();
  for (const one of wanted) {
    const room = roomFor(one, board, seen);
    if (room.fits) leave(board, one.pod.uid, w.node.name);
    if (one.there === undefined) place(board, one.pod, room);
    found.set(one.pod.uid, room);
  }
  return found;
}

function boardBefore({ gone = [], moved = [] }: Before, w: World): Board {
  const board = boardOf(w.present ?? presentOf(w.otherNodes, [...w.otherPods, ...w.pods]));
  for (const pod of gone) leave(board, pod.uid, pod.nodeName);
  for (const pod of moved) place(board, pod, { fits: true, node: pod.nodeName, nodes: 1 });
  return board;
}

function inOrder({ flags, vmis }: Moving) {
  const order = flags?.order;
  if (order === undefined || order === "LargestFirst") return largestFirst;
  const sizes = new Map(vmis.map((vmi) => [keyOf(vmi), vmi.guestMemory ?? 0]));
  const sizeOf = ({ pod }: Wanted) => sizes.get(vmOf(pod)) ?? pod.requests["memory"] ?? 0;
  const priorityOf = ({ pod }: Wanted) => (order === "ByPriority" ? (pod.priority ?? 0) : 0);
  return (a: Wanted, b: Wanted) =>
    priorityOf(a) - priorityOf(b) || sizeOf(a) - sizeOf(b) || (vmOf(a.pod) < vmOf(b.pod) ? -1 : 1);
}

function vmOf(pod: PreflightPod): string {
  return keyOf({ ...pod, name: vmiNameOf(pod) ?? "" });
}

function largestFirst({ pod: a }: Wanted, { pod: b }: Wanted): number {
  const [x, y] = [a.requests, b.requests];
  return (y["memory"] ?? 0) - (x["memory"] ?? 0) || (y["cpu"] ?? 0) - (x["cpu"] ?? 0) || (a.uid < b.uid ? -1 : 1);
}

/**
 * Finds nodes for the pod. First assumes the most requirements that the pod might have. If the pod then fits on no
 * node, assumes the fewest requirements.
 */
function roomFor({ there, pod, cpu, least }: Wanted, board: Board, w: Seen): RoomFound {
  if (there !== undefined) return { fits: true, node: there, nodes: 1 };
  const find = (one: PreflightPod) => findRoom(one, board, w, aroundOf(one, cpu, board, w));
  const room = find(pod);
  if (room.fits || least === undefined) return room;
  const other = find(least.pod);
  return other.fits ? { ...other, unsure: least.fields } : room;
}

const FULL: ReadonlyMap<string, number> = new Map();

function findRoom(pod: PreflightPod, board: Board, w: Seen, around: Around): RoomFound {
  const obstacles: [FitNode, string][] = [];
  const others = w.otherNodes.filter(({ name }) => name !== pod.nodeName);
  const free = others.filter((node) => {
    const obstacle = obstacleTo(pod, { node, room: board.filled.get(node.name)?.room ?? FULL }, around);
    if (obstacle !== undefined) obstacles.push([node, obstacle]);
    return obstacle === undefined;
  });
  const best = bestOf({ pod, nodes: free, board, labelsOf: w.labelsOf, scoring: w.scoring, lots: w.lots });
  if (best !== undefined) return { fits: true, node: best.name, nodes: free.length };
  const texts = obstacles.map(([node, one]) => (one === "CPU" ? cpuText(around.cpu ?? {}, node) : one));
  const reasons = [...new Set(texts)].toSorted().join(", ");
  const message = others.length === 0 ? MESSAGES.noOtherNode : MESSAGES.noRoomFor(reasons);
  return { fits: false, nodes: 0, message };
}

/**
 * Returns the facts that decide where the pod fits. Treats the drained node as cordoned, and the claims of a hotplug
 * pod as claims of its VM.
 */
function aroundOf(pod: PreflightPod, cpu: Around["cpu"], board: Board, w: Seen): Around {
  const nodes = [{ ...w.node, unschedulable: true }, ...w.otherNodes];
  const isIts = (one: PreflightPod) => one.namespace === pod.namespace && launcherOfHotplug(one)?.uid === pod.uid;
  const claims = w.volumes.length === 0 ? [] : [pod, ...w.holders.filter(isIts)].flatMap((one) => one.claims);
  const volumes = w.volumes.filter((one) => one.namespace === pod.namespace && claims.includes(one.claim));
  const isUneven = unevenness(pod, { nodes, board, cpu });
  return { isRepelled: repelling(pod, shyOf(pod, board), w.labelsOf), isUneven, volumes, ...(cpu && { cpu }) };
}

/**
 * Returns pods that anti-affinity might separate from this pod. The VM's current pod counts, as it does for
 * kube-scheduler: it can keep the target pod out of a whole zone. Other pods of the same VM do not count, because they
 * are gone before the VM moves again.
 */
function shyOf({ uid, antiAffinity, labels }: PreflightPod, board: Board): readonly NeighbourPod[] {
  const avoided = antiAffinity.flatMap(({ selector }) => podsLike(board, selector));
  const present = [...new Set([...avoided, ...podsAmong(board, board.directory.avoiding(labels))])];
  const vm = labels[CREATED_BY_LABEL];
  const isAnothers = (other: NeighbourPod) => vm === undefined || other.labels[CREATED_BY_LABEL] !== vm;
  return present.filter((other) => other.uid === uid || isAnothers(other));
}
