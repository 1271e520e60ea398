/**
 * Room for the VMs of a node on the others: all of them together, the largest first.
 *
 * The scheduler decides in the end, one target pod at a time, in an order that no one knows beforehand. It prefers the node with most room,
 * and so does this.
 */
import { type Room, roomOn, roomWith } from "../kube/room.ts";
import { isCompleted } from "../facts.ts";
import { launcherOfHotplug } from "../kube/pod-kind.ts";
import { type Around, obstacleTo, type Spot } from "./constraints.ts";
import { nodesOfSameCpu } from "./cpu.ts";
import type { NeighbourPod, PreflightFacts, PreflightPod, Volume } from "./facts.ts";
import { nearOf } from "./near.ts";
import type { RoomFound } from "./result.ts";
import { unevenOf } from "./spread.ts";

export interface World extends Pick<PreflightFacts, "node" | "otherNodes" | "otherPods" | "pods" | "volumes"> {
  /** Names of the nodes to prefer; absent: which CPU a node has does not matter. */
  readonly sameCpu?: ReadonlySet<string>;
}

/** Where the search stands: what is taken so far. */
export interface Board {
  readonly rooms: ReadonlyMap<string, Room>;
  /** Without ended ones. */
  readonly pods: readonly NeighbourPod[];
}

/** By the UIDs of the pods. Pods of the node stay in sight until they have gone: a target pod is placed beside its source. */
export function placeAll(moving: readonly PreflightPod[], world: World): ReadonlyMap<string, RoomFound> {
  const w = { ...world, sameCpu: nodesOfSameCpu(world.node, world.otherNodes) };
  const start = boardOf(w);
  let board = start;
  const found = new Map<string, RoomFound>();
  for (const pod of moving.toSorted(largestFirst)) {
    const room = findRoom(pod, board, w);
    const target = room.node;
    if (target !== undefined) board = withPod(board, { ...pod, nodeName: target });
    const isShared = !room.fits && board !== start && findRoom(pod, start, w).fits;
    found.set(pod.uid, isShared ? { ...room, fitsAlone: true } : room);
  }
  return found;
}

export function boardOf({ otherNodes, otherPods, pods }: World): Board {
  const byNode = Map.groupBy(otherPods, ({ nodeName }) => nodeName);
  const rooms = new Map(otherNodes.map((node) => [node.name, roomOn(node, byNode.get(node.name) ?? [])]));
  return { rooms, pods: [...otherPods, ...pods].filter((pod) => !isCompleted(pod)) };
}

export function withPod({ rooms, pods }: Board, pod: NeighbourPod): Board {
  const room = rooms.get(pod.nodeName);
  const changed = room === undefined ? rooms : new Map(rooms).set(pod.nodeName, roomWith(room, pod));
  return { rooms: changed, pods: [...pods, pod] };
}

function largestFirst(a: PreflightPod, b: PreflightPod): number {
  const [x, y] = [a.requests, b.requests];
  return (y["memory"] ?? 0) - (x["memory"] ?? 0) || (y["cpu"] ?? 0) - (x["cpu"] ?? 0) || (a.uid < b.uid ? -1 : 1);
}

/** The drained node is cordoned by then. */
function aroundOf(pod: PreflightPod, { pods: present }: Board, w: World): Around {
  const nodes = [{ ...w.node, unschedulable: true }, ...w.otherNodes];
  return { near: nearOf(pod, present, nodes), uneven: unevenOf(pod, present, nodes), volumes: volumesOf(pod, w) };
}

/** A hotplugged volume is one of the hotplug pod, which goes with the VM. */
function volumesOf(pod: PreflightPod, { pods, volumes }: World): readonly Volume[] {
  if (volumes.length === 0) return [];
  const hotplug = pods.filter(
    (other) => other.namespace === pod.namespace && launcherOfHotplug(other)?.uid === pod.uid,
  );
  const claims = new Set([pod, ...hotplug].flatMap((one) => one.claims));
  return volumes.filter(({ namespace, claim }) => namespace === pod.namespace && claims.has(claim));
}

export function findRoom(pod: PreflightPod, board: Board, w: World): RoomFound {
  const around = aroundOf(pod, board, w);
  const free: Spot[] = [];
  const obstacles = new Set<string>();
  for (const node of w.otherNodes) {
    const spot = { node, room: board.rooms.get(node.name) ?? new Map<string, number>() };
    const obstacle = obstacleTo(pod, spot, around);
    if (obstacle === undefined) free.push(spot);
    else obstacles.add(obstacle);
  }
  const same = free.filter(({ node }) => w.sameCpu?.has(node.name) !== false);
  const [best] = (same.length > 0 ? same : free).toSorted(mostRoomFirst);
  if (best !== undefined) {
    return { fits: true, node: best.node.name, ...(same.length === 0 && { otherCpu: true }), nodes: free.length };
  }
  if (w.otherNodes.length === 0) return { fits: false, nodes: 0, message: "there is no other node" };
  const message = `no other node has room for it: ${[...obstacles].toSorted().join(", ")}`;
  return { fits: false, nodes: 0, message };
}

function mostRoomFirst(a: Spot, b: Spot): number {
  return freeMemory(b) - freeMemory(a) || (a.node.name < b.node.name ? -1 : 1);
}

function freeMemory({ room }: Spot): number {
  return room.get("memory") ?? 0;
}
