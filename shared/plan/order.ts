/** Finds an order in which every node can be drained, with few migrations. */
import { isLauncher, keyOf } from "../kube/objects.ts";
import { filledBy } from "../preflight/board.ts";
import { type Given, judge } from "./judge.ts";
import { PLAN_MESSAGES } from "./messages.ts";
import { type Placement, startFrom, withNode } from "./placement.ts";
import { afterDrain, backAgain, hasNoRoom, type Step } from "./sequence.ts";

export interface Ordered {
  readonly nodes: readonly string[];
  /** Nodes whose pods did not fit on the other nodes at any check. These nodes come last in the order. */
  readonly stuck: readonly string[];
  readonly moves: number;
}

/**
 * The search stops when an order needs at most this many migrations per VM on average. Other orders would save few
 * migrations.
 */
const FEW_MOVES = 1.05;

/**
 * Returns the best of up to three orders: the given order, the emptiest nodes first, and the fullest nodes first. In
 * each order, nodes that cannot be drained yet come later.
 */
export function plannedOrder(nodes: readonly string[], start: Placement, parallel: number, given: Given): Ordered {
  const taken = new Map(nodes.map((name) => [name, memoryOfVms(name, start)]));
  const byMemory = (sign: number) =>
    nodes.toSorted((a, b) => sign * ((taken.get(a) ?? 0) - (taken.get(b) ?? 0)) || (a < b ? -1 : 1));
  const vms = nodes.reduce((sum, name) => sum + (start.podsOn.get(name) ?? []).filter(isLauncher).length, 0);
  let best: Ordered | undefined;
  for (const wanted of [nodes, byMemory(1), byMemory(-1)]) {
    const found = withDeferrals(wanted, start, parallel, given);
    if (best === undefined || isBetter(found, best)) best = found;
    if (best.stuck.length === 0 && best.moves <= vms * FEW_MOVES) break;
  }
  return best ?? { nodes, stuck: [], moves: 0 };
}

function isBetter(a: Ordered, b: Ordered): boolean {
  return a.stuck.length < b.stuck.length || (a.stuck.length === b.stuck.length && a.moves < b.moves);
}

function memoryOfVms(name: string, { podsOn }: Placement): number {
  return (podsOn.get(name) ?? []).filter(isLauncher).reduce((sum, { requests }) => sum + (requests["memory"] ?? 0), 0);
}

/**
 * The maximum number of checks, as a multiple of the number of nodes. Each check is about one node. Without this limit,
 * planning a large and full cluster would take minutes.
 */
const MOST_PASSES = 4;

function withDeferrals(wanted: readonly string[], start: Placement, parallel: number, given: Given): Ordered {
  const order: string[] = [];
  let [placement, left, passes, moves] = [startFrom(start), wanted, wanted.length * MOST_PASSES, 0];
  while (left.length > 0) {
    const wave: string[] = [];
    for (const name of left) {
      if (wave.length >= parallel || passes <= 0) break;
      passes -= 1;
      const next = drainedAlone(name, placement, given);
      if (next === undefined) continue;
      placement = next.after;
      moves += next.moves;
      wave.push(name);
    }
    if (wave.length === 0) break;
    placement = backAgain(placement, wave, given);
    order.push(...wave);
    left = left.filter((name) => !wave.includes(name));
  }
  return { nodes: [...order, ...left], stuck: left, moves };
}

function drainedAlone(name: string, placement: Placement, given: Given) {
  const cordoned = withNode(placement, name, true);
  const one = judge(name, cordoned, given);
  if (one === undefined || hasNoRoom(one.found)) return undefined;
  const moves = one.isRefused ? 0 : one.found.pods.filter(({ outcome }) => outcome === "Moves").length;
  return { after: afterDrain(cordoned, one), moves };
}

const GIB = 1024 ** 3;

/**
 * Returns a message about the VMs that fit on no other node. The message compares their memory with the free memory of
 * the node that has the most free memory. If memory is not the obstacle, the message says why the first of these VMs
 * fits on no node. Returns undefined if every VM fits on another node.
 */
export function shortageOf({ judged }: Pick<Step, "judged">): string | undefined {
  const homeless = judged.facts.pods.filter((pod) => {
    const { room, vmi } = judged.verdicts.get(keyOf(pod)) ?? {};
    return room?.fits === false && vmi !== undefined;
  });
  if (homeless.length === 0) return undefined;
  const needed = homeless.reduce((sum, { requests }) => sum + (requests["memory"] ?? 0), 0);
  const others = Map.groupBy(judged.facts.otherPods, ({ nodeName }) => nodeName);
  const left = judged.facts.otherNodes
    .filter(({ unschedulable, ready }) => ready && !unschedulable)
    .map((other) => filledBy(other, others.get(other.name) ?? []).room.get("memory") ?? 0);
  const most = Math.max(0, ...left);
  const [first] = homeless.flatMap((pod) => judged.verdicts.get(keyOf(pod)) ?? []);
  const { namespace, vmi: name = "", room } = first ?? { namespace: "" };
  if (needed <= most && room?.message !== undefined)
    return PLAN_MESSAGES.fitsNowhere(keyOf({ namespace, name }), homeless.length - 1, room.message);
  return PLAN_MESSAGES.shortage(homeless.length, gib(needed), gib(most));
}

function gib(bytes: number): string {
  const number = bytes / GIB;
  return `${number >= 10 ? Math.round(number) : Math.round(number * 10) / 10} GiB`;
}
