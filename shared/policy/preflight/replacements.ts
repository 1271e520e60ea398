/**
 * Pods that their budget lets go one after the other, each when the replacement of one before it is ready: which of them never go, because
 * no other node has room for such a replacement.
 */
import { keyOf } from "../facts.ts";
import { guardOf } from "./budgets.ts";
import type { PreflightFacts, PreflightPod } from "./facts.ts";
import { type Board, boardOf, findRoom, withPod, type World } from "./placing.ts";
import type { RoomFound } from "./result.ts";

export interface Held {
  /** Name of its budget. */
  readonly budget: string;
  /** Of the replacement that it waits for; absent: no controller makes one. */
  readonly room?: RoomFound;
}

interface Leaving {
  readonly pod: PreflightPod;
  /** Name of its budget, if it has one. */
  readonly budget: string | undefined;
  /** Of the budget: `namespace/name`. */
  readonly key: string;
}

/** Of pods that are evicted, those that stay, by UID. */
export function heldByBudgets(evicted: readonly PreflightPod[], f: PreflightFacts): ReadonlyMap<string, Held> {
  const leaving = evicted.map((pod) => leavingOf(pod, f));
  const allowed = new Map(f.budgets.map((budget) => [keyOf(budget), budget.status.disruptionsAllowed]));
  const counts = Map.groupBy(leaving, ({ key }) => key);
  const isTight = leaving.some(({ budget, key }) => {
    return budget !== undefined && (counts.get(key) ?? []).length > (allowed.get(key) ?? 0);
  });
  // Replacements of pods without a budget take room away, but keep no pod from going.
  return isTight ? playedThrough(leaving, allowed, f) : new Map();
}

function leavingOf(pod: PreflightPod, { budgets }: PreflightFacts): Leaving {
  const budget = guardOf(pod, budgets)?.name;
  return { pod, budget, key: budget === undefined ? "" : keyOf({ namespace: pod.namespace, name: budget }) };
}

/** Round by round: what its budget lets go goes, and each replacement that finds a node gives a disruption back. */
function playedThrough(leaving: readonly Leaving[], allowed: Map<string, number>, w: World): ReadonlyMap<string, Held> {
  const homeless = new Map<string, RoomFound>();
  let [board, waiting] = [boardOf(w), leaving];
  for (;;) {
    const going = waiting.filter(({ budget, key }) => budget === undefined || take(key, allowed));
    if (going.length === 0) break;
    waiting = waiting.filter((one) => !going.includes(one));
    board = without(board, going);
    for (const { pod, key } of going.filter(isReplaced)) {
      const room = findRoom(pod, board, w);
      if (room.node === undefined) homeless.set(key, room);
      else {
        board = withPod(board, { ...pod, nodeName: room.node });
        allowed.set(key, (allowed.get(key) ?? 0) + 1);
      }
    }
  }
  return new Map(
    waiting.map(({ pod, budget = "", key }) => {
      const room = homeless.get(key);
      return [pod.uid, { budget, ...(room && { room: inWords(room, budget) }) }];
    }),
  );
}

function inWords(room: RoomFound, budget: string): RoomFound {
  const waits = `PodDisruptionBudget ${budget} waits for a replacement of another pod`;
  return { ...room, message: `${waits}: ${room.message}` };
}

function take(key: string, allowed: Map<string, number>): boolean {
  const left = allowed.get(key) ?? 0;
  if (left > 0) allowed.set(key, left - 1);
  return left > 0;
}

function isReplaced({ pod }: Leaving): boolean {
  return pod.owners.some(({ controller }) => controller);
}

function without(board: Board, gone: readonly Leaving[]): Board {
  const uids = new Set(gone.map(({ pod }) => pod.uid));
  return { ...board, pods: board.pods.filter(({ uid }) => !uids.has(uid)) };
}
