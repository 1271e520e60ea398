/** Tracks the free resources of each node while pods are placed one after another. */
import type { LabelSelector } from "../kube/facts.ts";
import { isFinal } from "../kube/objects.ts";
import { createDirectory, type Directory } from "./directory.ts";
import type { NeighbourPod, RoomFound } from "./facts.ts";
import { type FitNode, type Room, roomOn, roomWith } from "./fit.ts";

export interface Filled {
  readonly room: Room;
  readonly pods: number;
  /** The requests that kube-scheduler assumes for containers without requests, in millicores and bytes. */
  readonly assumed: { readonly cpu: number; readonly memory: number };
}

export interface PresentPods {
  readonly filled: Map<string, Filled>;
  readonly pods: Map<string, NeighbourPod>;
  readonly directory: Directory;
}

/**
 * The pods on each node while Lifeboat places further pods. This object is changed in place, because copying ten
 * thousand pods for each placed pod would be too slow.
 */
export interface Board {
  readonly filled: Map<string, Filled>;
  readonly before: ReadonlyMap<string, NeighbourPod>;
  /** Pods that were added or removed after the board was created. The value is undefined if the pod was removed. */
  readonly since: Map<string, NeighbourPod | undefined>;
  readonly directory: Directory;
}

const EMPTY: Filled["assumed"] = { cpu: 0, memory: 0 };

export function filledBy(node: Pick<FitNode, "allocatable">, pods: readonly NeighbourPod[]): Filled {
  const present = pods.filter((pod) => !isFinal(pod));
  const assumed = present.reduce((sum, pod) => plus(sum, pod), EMPTY);
  return { room: roomOn(node, present), pods: present.length, assumed };
}

export function filledWith({ room, pods, assumed }: Filled, pod: NeighbourPod): Filled {
  return { room: roomWith(room, pod), pods: pods + 1, assumed: plus(assumed, pod) };
}

function plus(sum: Filled["assumed"], { placementTerms }: NeighbourPod): Filled["assumed"] {
  if (placementTerms === undefined) return sum;
  const { cpu = 0, memory = 0 } = placementTerms.assumed;
  return cpu + memory === 0 ? sum : { cpu: sum.cpu + cpu, memory: sum.memory + memory };
}

/** Returns the pods of these nodes that have not ended, with the free resources of each node. */
export function presentOf(nodes: readonly FitNode[], all: readonly NeighbourPod[]): PresentPods {
  const pods = all.filter((pod) => !isFinal(pod));
  const byNode = Map.groupBy(pods, ({ nodeName }) => nodeName);
  const directory = createDirectory();
  for (const pod of pods) directory.add(pod);
  return {
    filled: new Map(nodes.map((node) => [node.name, filledBy(node, byNode.get(node.name) ?? [])])),
    pods: new Map(pods.map((pod) => [pod.uid, pod])),
    directory,
  };
}

/** Copies the maps of nodes and pods. All copies share the directory, which finds pods by their labels. */
export function copyOf({ filled, pods, directory }: PresentPods): PresentPods {
  return { filled: new Map(filled), pods: new Map(pods), directory };
}

export function clear({ filled, pods }: PresentPods, node: FitNode, there: readonly NeighbourPod[]): void {
  for (const { uid } of there) pods.delete(uid);
  filled.set(node.name, filledBy(node, []));
}

export function addPods({ filled, pods, directory }: PresentPods, more: readonly NeighbourPod[]): void {
  for (const pod of more) {
    if (isFinal(pod)) continue;
    const node = filled.get(pod.nodeName);
    if (node !== undefined) filled.set(pod.nodeName, filledWith(node, pod));
    pods.set(pod.uid, pod);
    directory.add(pod);
  }
}

export function boardOf({ filled, pods, directory }: PresentPods): Board {
  return { filled: new Map(filled), before: pods, since: new Map(), directory };
}

export function place(board: Board, pod: NeighbourPod, { node }: RoomFound): void {
  const before = board.filled.get(node ?? "");
  if (node === undefined || before === undefined) return;
  board.filled.set(node, filledWith(before, pod));
  const placed = { ...pod, nodeName: node };
  board.since.set(pod.uid, placed);
  board.directory.add(placed);
}

/** Removes a pod if it is still on this node. */
export function leave(board: Board, uid: string, nodeName: string): void {
  if (podOf(board, uid)?.nodeName === nodeName) board.since.set(uid, undefined);
}

function podOf({ before, since }: Board, uid: string): NeighbourPod | undefined {
  return since.has(uid) ? since.get(uid) : before.get(uid);
}

/** Returns the pods with these UIDs that are on a node. If `uids` is undefined, returns all pods. */
export function podsAmong(board: Board, uids: Iterable<string> | undefined): readonly NeighbourPod[] {
  const found: NeighbourPod[] = [];
  for (const uid of uids ?? new Set([...board.before.keys(), ...board.since.keys()])) {
    const pod = podOf(board, uid);
    if (pod !== undefined) found.push(pod);
  }
  return found;
}

export function podsLike(board: Board, selector: LabelSelector | undefined): readonly NeighbourPod[] {
  return podsAmong(board, board.directory.selectedBy(selector));
}
