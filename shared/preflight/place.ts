/**
 * Several pods placed one after the other. The scheduler decides in the end, in an order that no one knows beforehand. It prefers the node
 * with most room, and so does this.
 */
import { CREATED_BY_LABEL, MIGRATION_JOB_LABEL } from "../kube/names.ts";
import { isFinal, isLauncher, keyOf, launcherOfHotplug, vmiNameOf } from "../kube/objects.ts";
import type { VmiFacts } from "../kube/facts.ts";
import type { Leaving, NeighbourPod, PreflightFacts, PreflightPod, RoomFound } from "./facts.ts";
import { type Around, obstacleTo, repelling, type Room, roomOn, roomWith, type Spot } from "./fit.ts";
import { cpuText } from "./host-cpu.ts";
import { type NextPod, renderTarget } from "./next-pod.ts";

/** A pod that is to be placed. */
export interface Wanted extends NextPod<PreflightPod> {
  /** The node on which it exists already. */
  readonly there?: string | undefined;
}

/** An ordinary pod: its controller makes the same again. */
export function asItIs(pod: PreflightPod): Wanted {
  return { pod, cpu: {} };
}

type World = Pick<PreflightFacts, "node" | "otherNodes" | "otherPods" | "pods" | "volumes">;

/** Also the pods that hold hotplugged volumes. */
interface Seen extends World {
  readonly holders: readonly PreflightPod[];
}

/** The placement so far: the room on each node, and the pods. */
interface Board {
  readonly rooms: ReadonlyMap<string, Room>;
  /** Without ended ones. */
  readonly pods: readonly NeighbourPod[];
}

type Moving = World & Pick<PreflightFacts, "vmis" | "migrations" | "leavingElsewhere" | "settings">;

/**
 * Target pods of migrations, the largest first, by the UIDs of the pods. VMs that are leaving other nodes come before them. Pods of the node
 * stay in sight until they have gone: a target pod is placed beside its source.
 */
export function placeAll(moving: readonly PreflightPod[], f: Moving): ReadonlyMap<string, RoomFound> {
  const elsewhere = f.leavingElsewhere.flatMap((one) => targetsOf(one.pods.filter(isLauncher), one, f));
  const own = targetsOn(moving, f);
  const hotplug = f.leavingElsewhere.flatMap(({ pods }) => pods);
  return placeInTurn([...elsewhere.toSorted(largestFirst), ...own.toSorted(largestFirst)], f, hotplug);
}

/** Returns the target pods of the node's VMs. */
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

/** The target pod of its migration under way, if the pod is on another node already. */
export function targetPodIn(vmi: VmiFacts, { migrations, otherPods }: UnderWay): NeighbourPod | undefined {
  const isOf = (m: { readonly namespace: string; readonly vmiName: string }) =>
    m.namespace === vmi.namespace && m.vmiName === vmi.name;
  const jobs = new Set(migrations.filter((m) => isOf(m) && !isFinal(m)).map(({ uid }) => uid));
  if (jobs.size === 0) return undefined;
  const isIts = ({ namespace, labels }: NeighbourPod) =>
    namespace === vmi.namespace && jobs.has(labels[MIGRATION_JOB_LABEL] ?? "");
  return otherPods.find((pod) => isIts(pod) && !isFinal(pod) && !pod.deleting);
}

/** `beside`: more pods that hold volumes of those. */
export function placeInTurn(
  wanted: readonly Wanted[],
  w: World,
  beside: readonly PreflightPod[] = [],
): ReadonlyMap<string, RoomFound> {
  const holders = [...w.pods, ...beside].filter((pod) => launcherOfHotplug(pod) !== undefined);
  let board = boardOf(w);
  const found = new Map<string, RoomFound>();
  for (const one of wanted) {
    const room = roomFor(one, board, { ...w, holders });
    if (one.there === undefined) board = withPod(board, one.pod, room);
    found.set(one.pod.uid, room);
  }
  return found;
}

function boardOf({ otherNodes, otherPods, pods }: World): Board {
  const byNode = Map.groupBy(otherPods, ({ nodeName }) => nodeName);
  const rooms = new Map(otherNodes.map((node) => [node.name, roomOn(node, byNode.get(node.name) ?? [])]));
  return { rooms, pods: [...otherPods, ...pods].filter((pod) => !isFinal(pod)) };
}

/** With one more pod, where it finds room. */
function withPod(board: Board, pod: NeighbourPod, { node }: RoomFound): Board {
  const room = board.rooms.get(node ?? "");
  if (node === undefined || room === undefined) return board;
  return {
    rooms: new Map(board.rooms).set(node, roomWith(room, pod)),
    pods: [...board.pods, { ...pod, nodeName: node }],
  };
}

function largestFirst({ pod: a }: Wanted, { pod: b }: Wanted): number {
  const [x, y] = [a.requests, b.requests];
  return (y["memory"] ?? 0) - (x["memory"] ?? 0) || (y["cpu"] ?? 0) - (x["cpu"] ?? 0) || (a.uid < b.uid ? -1 : 1);
}

/** Room for the most that it may ask for, else for the least. */
function roomFor({ there, pod, cpu, least }: Wanted, board: Board, w: Seen): RoomFound {
  if (there !== undefined) return { fits: true, node: there, nodes: 1 };
  const find = (one: PreflightPod) => findRoom(one, board, w, aroundOf(one, cpu, board, w));
  const room = find(pod);
  if (room.fits || least === undefined) return room;
  const other = find(least.pod);
  return other.fits ? { ...other, unsure: least.fields } : room;
}

function findRoom(pod: PreflightPod, board: Board, w: World, around: Around): RoomFound {
  const free: Required<Spot>[] = [];
  const obstacles = new Set<string>();
  const others = w.otherNodes.filter(({ name }) => name !== pod.nodeName);
  for (const node of others) {
    const spot = { node, room: board.rooms.get(node.name) ?? new Map<string, number>() };
    const obstacle = obstacleTo(pod, spot, around);
    if (obstacle === undefined) free.push(spot);
    else obstacles.add(obstacle === "CPU" ? cpuText(around.cpu ?? {}, node) : obstacle);
  }
  const [best] = free.toSorted(mostRoomFirst);
  if (best !== undefined) return { fits: true, node: best.node.name, nodes: free.length };
  const reasons = [...obstacles].toSorted().join(", ");
  const message = others.length === 0 ? "there is no other node" : `no other node has room for it: ${reasons}`;
  return { fits: false, nodes: 0, message };
}

/** The drained node is cordoned by then. A hotplugged volume is one of the hotplug pod, which goes with the VM. */
function aroundOf(pod: PreflightPod, cpu: Around["cpu"], { pods: present }: Board, w: Seen): Around {
  const nodes = [{ ...w.node, unschedulable: true }, ...w.otherNodes];
  const isIts = (one: PreflightPod) => one.namespace === pod.namespace && launcherOfHotplug(one)?.uid === pod.uid;
  const claims = w.volumes.length === 0 ? [] : [pod, ...w.holders.filter(isIts)].flatMap((one) => one.claims);
  const volumes = w.volumes.filter((one) => one.namespace === pod.namespace && claims.includes(one.claim));
  // Its own VM's launcher pods go, or a migration is not even begun.
  const vm = pod.labels[CREATED_BY_LABEL];
  const others = vm === undefined ? present : present.filter(({ labels }) => labels[CREATED_BY_LABEL] !== vm);
  return { isRepelled: repelling(pod, others, nodes), volumes, ...(cpu && { cpu }) };
}

function mostRoomFirst(a: Required<Spot>, b: Required<Spot>): number {
  return (b.room.get("memory") ?? 0) - (a.room.get("memory") ?? 0) || (a.node.name < b.node.name ? -1 : 1);
}
