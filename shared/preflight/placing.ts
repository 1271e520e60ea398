/**
 * Where the pods of a node would go: its VMs, all together and the largest first, and the replacements that budgets wait for.
 *
 * The scheduler decides in the end, one pod at a time, in an order that no one knows beforehand. It prefers the node with most room, and
 * so does this.
 */
import type { NeighbourPod, PreflightFacts, PreflightPod, RoomFound } from "./facts.ts";
import { type Around, type FitNode, obstacleTo, repelling, type Room, roomOn, roomWith } from "./fit.ts";
import { budgetOf } from "./refusals.ts";
import { isFinal, keyOf, launcherOfHotplug } from "../kube/objects.ts";

interface World extends Pick<PreflightFacts, "node" | "otherNodes" | "otherPods" | "pods" | "volumes"> {
  /** Names of the nodes to prefer; absent: which CPU a node has does not matter. */
  readonly sameCpu?: ReadonlySet<string>;
}

/** What is taken so far. */
interface Board {
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
    board = withPod(board, pod, room);
    const isShared = !room.fits && board !== start && findRoom(pod, start, w).fits;
    found.set(pod.uid, isShared ? { ...room, fitsAlone: true } : room);
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

function largestFirst(a: PreflightPod, b: PreflightPod): number {
  const [x, y] = [a.requests, b.requests];
  return (y["memory"] ?? 0) - (x["memory"] ?? 0) || (y["cpu"] ?? 0) - (x["cpu"] ?? 0) || (a.uid < b.uid ? -1 : 1);
}

interface Spot {
  readonly node: FitNode;
  readonly room: Room;
}

function findRoom(pod: PreflightPod, board: Board, w: World): RoomFound {
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
  const reasons = [...obstacles].toSorted().join(", ");
  const message = w.otherNodes.length === 0 ? "there is no other node" : `no other node has room for it: ${reasons}`;
  return { fits: false, nodes: 0, message };
}

/** The drained node is cordoned by then. A hotplugged volume is one of the hotplug pod, which goes with the VM. */
function aroundOf(pod: PreflightPod, { pods: present }: Board, w: World): Around {
  const nodes = [{ ...w.node, unschedulable: true }, ...w.otherNodes];
  const isIts = (one: PreflightPod) => one.namespace === pod.namespace && launcherOfHotplug(one)?.uid === pod.uid;
  const claims = w.volumes.length === 0 ? [] : [pod, ...w.pods.filter(isIts)].flatMap((one) => one.claims);
  const volumes = w.volumes.filter((one) => one.namespace === pod.namespace && claims.includes(one.claim));
  return { isRepelled: repelling(pod, present, nodes), volumes };
}

function mostRoomFirst(a: Spot, b: Spot): number {
  return freeMemory(b) - freeMemory(a) || (a.node.name < b.node.name ? -1 : 1);
}

function freeMemory({ room }: Spot): number {
  return room.get("memory") ?? 0;
}

/**
 * KubeVirt's node labeller writes them. The target pod of a migration selects the source node's CPU vendor, and for a `host-model` VM its
 * CPU model and required features; what an individual VM needs of these is not judged.
 * Upstream: `createTargetPod`, `prepareNodeSelectorForHostCpuModel` of KubeVirt's migration controller.
 */
const CPU_LABELS = /^(cpu-model|cpu-vendor|host-model-cpu|host-model-required-features)\.node\.kubevirt\.io\//;

/** Names of those where a guest of the node certainly finds its CPU: their CPU labels are the same. */
function nodesOfSameCpu(source: FitNode, nodes: readonly FitNode[]): ReadonlySet<string> {
  const cpu = cpuOf(source);
  return new Set(nodes.filter((node) => cpuOf(node) === cpu).map(({ name }) => name));
}

function cpuOf({ labels }: FitNode): string {
  const entries = Object.entries(labels).filter(([key]) => CPU_LABELS.test(key));
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A pod that its budget keeps on the node for good. */
export interface Held {
  /** Name of its budget. */
  readonly budget: string;
  /** Of the replacement that it waits for; absent: no controller makes one. */
  readonly room?: RoomFound;
}

interface Leaving {
  readonly pod: PreflightPod;
  /** Name of its budget, if it has one; and its `namespace/name`. */
  readonly budget?: string;
  readonly key: string;
}

export interface Replacing {
  /** Those that never go, by UID. */
  readonly held: ReadonlyMap<string, Held>;
  /** Pods whose replacements have been placed. */
  readonly replaced: readonly PreflightPod[];
}

/** Of pods that are evicted: their budget lets them go one after the other, each when the replacement of one before it is ready. */
export function heldByBudgets(evicted: readonly PreflightPod[], f: PreflightFacts): Replacing {
  const leaving = evicted.map((pod): Leaving => {
    const budget = budgetOf(pod, f.budgets);
    return budget === undefined ? { pod, key: "" } : { pod, budget: budget.name, key: keyOf(budget) };
  });
  const allowed = new Map(f.budgets.map((budget) => [keyOf(budget), budget.status.disruptionsAllowed]));
  const counts = Map.groupBy(leaving, ({ key }) => key);
  const tight = [...counts].filter(([key, pods]) => key !== "" && pods.length > (allowed.get(key) ?? 0));
  // Replacements of pods without a budget take room away, but keep no pod from going.
  const held = tight.length > 0 ? playedThrough(leaving, allowed, f) : new Map<string, Held>();
  return { held, replaced: tight.flatMap(([, pods]) => pods.map(({ pod }) => pod)) };
}

/** Round by round: what its budget lets go goes, and each replacement that finds a node gives a disruption back. */
function playedThrough(leaving: readonly Leaving[], allowed: Map<string, number>, w: World): ReadonlyMap<string, Held> {
  const homeless = new Map<string, RoomFound>();
  let [board, waiting] = [boardOf(w), leaving];
  for (;;) {
    const going = waiting.filter(({ budget, key }) => budget === undefined || take(key, allowed));
    if (going.length === 0) break;
    waiting = waiting.filter((one) => !going.includes(one));
    const gone = new Set(going.map(({ pod }) => pod.uid));
    board = { ...board, pods: board.pods.filter(({ uid }) => !gone.has(uid)) };
    for (const { pod, key } of going) {
      if (!pod.owners.some(({ controller }) => controller)) continue;
      const room = findRoom(pod, board, w);
      board = withPod(board, pod, room);
      if (room.fits) allowed.set(key, (allowed.get(key) ?? 0) + 1);
      else homeless.set(key, room);
    }
  }
  return new Map(waiting.map(({ pod, budget = "", key }) => [pod.uid, heldBy(budget, homeless.get(key))]));
}

function heldBy(budget: string, room: RoomFound | undefined): Held {
  if (room === undefined) return { budget };
  const waits = `PodDisruptionBudget ${budget} waits for a replacement of another pod`;
  return { budget, room: { ...room, message: `${waits}: ${room.message}` } };
}

function take(key: string, allowed: Map<string, number>): boolean {
  const left = allowed.get(key) ?? 0;
  if (left > 0) allowed.set(key, left - 1);
  return left > 0;
}
