/** The placement of pods while more are placed: the room on each node, and the pods that affect other pods' places. */
import { isFinal } from "../kube/objects.ts";
import type { NeighbourPod, RoomFound } from "./facts.ts";
import { type FitNode, type Room, roomOn, roomWith } from "./fit.ts";

/** A node while pods are placed on it. */
export interface Filled {
  readonly room: Room;
  readonly pods: number;
  /** Requests that kube-scheduler assumes for pods without any: millicores, bytes. */
  readonly assumed: { readonly cpu: number; readonly memory: number };
}

/** Changed in place: there may be ten thousand pods, and copying them for each placed pod would be too slow. */
export interface Board {
  readonly filled: Map<string, Filled>;
  /** Without ended pods. */
  readonly pods: NeighbourPod[];
  /** Pods that exclude other pods. */
  readonly shy: NeighbourPod[];
  /** Pods that prefer or avoid other pods nearby. */
  readonly sociable: NeighbourPod[];
  /** Pods of each ReplicaSet. */
  readonly siblings: Map<string, NeighbourPod[]>;
}

const EMPTY: Filled["assumed"] = { cpu: 0, memory: 0 };

export function filledBy(node: Pick<FitNode, "allocatable">, pods: readonly NeighbourPod[]): Filled {
  const present = pods.filter((pod) => !isFinal(pod));
  const assumed = present.reduce((sum, pod) => plus(sum, pod), EMPTY);
  return { room: roomOn(node, present), pods: present.length, assumed };
}

function plus(sum: Filled["assumed"], { wishes }: NeighbourPod): Filled["assumed"] {
  if (wishes === undefined) return sum;
  const { cpu = 0, memory = 0 } = wishes.assumed;
  return cpu + memory === 0 ? sum : { cpu: sum.cpu + cpu, memory: sum.memory + memory };
}

/** Makes the board from the pods that are present on these nodes and on others. */
export function boardOf(
  nodes: readonly FitNode[],
  here: readonly NeighbourPod[],
  beside: readonly NeighbourPod[],
): Board {
  const byNode = Map.groupBy(here, ({ nodeName }) => nodeName);
  const filled = new Map(nodes.map((node) => [node.name, filledBy(node, byNode.get(node.name) ?? [])]));
  const board: Board = { filled, pods: [], shy: [], sociable: [], siblings: new Map() };
  for (const pods of [here, beside]) for (const pod of pods) if (!isFinal(pod)) addTo(board, pod);
  return board;
}

function isShy({ antiAffinity }: NeighbourPod): boolean {
  return antiAffinity.length > 0;
}

function isSociable({ wishes }: NeighbourPod): boolean {
  return wishes !== undefined && wishes.near.length + wishes.preferred.length > 0;
}

/** Adds a pod where it has found room. */
export function place(board: Board, pod: NeighbourPod, { node }: RoomFound): void {
  const before = board.filled.get(node ?? "");
  if (node === undefined || before === undefined) return;
  const { room, pods, assumed } = before;
  board.filled.set(node, { room: roomWith(room, pod), pods: pods + 1, assumed: plus(assumed, pod) });
  addTo(board, { ...pod, nodeName: node });
}

/** Removes a pod that has left its node. */
export function leave(board: Board, uid: string, nodeName: string): void {
  const { pods, shy, sociable } = board;
  const at = pods.findLastIndex((pod) => pod.uid === uid && pod.nodeName === nodeName);
  const [gone] = at < 0 ? [] : pods.splice(at, 1);
  if (gone === undefined) return;
  const siblings = board.siblings.get(gone.replicaSet ?? "") ?? [];
  for (const others of [shy, sociable, siblings]) {
    const where = others.indexOf(gone);
    if (where >= 0) others.splice(where, 1);
  }
}

function addTo(board: Board, pod: NeighbourPod): void {
  board.pods.push(pod);
  if (isShy(pod)) board.shy.push(pod);
  if (isSociable(pod)) board.sociable.push(pod);
  if (pod.replicaSet === undefined) return;
  const siblings = board.siblings.get(pod.replicaSet);
  if (siblings === undefined) board.siblings.set(pod.replicaSet, [pod]);
  else siblings.push(pod);
}
