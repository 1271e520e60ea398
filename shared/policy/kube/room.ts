/** Room on a node: what its pods leave of each resource, counted as the scheduler counts. */
import { isCompleted } from "../facts.ts";
import type { Resources } from "./placement.ts";

export type Room = ReadonlyMap<string, number>;

interface Requesting {
  readonly phase: string;
  readonly requests: Resources;
}

/** `pods` counts as a resource of which each pod takes one. What a node does not have is not in it. */
export function roomOn({ allocatable }: { readonly allocatable: Resources }, pods: readonly Requesting[]): Room {
  return pods.reduce(take, new Map(Object.entries(allocatable)));
}

/** One more pod. An ended one takes nothing. */
export function roomWith(room: Room, pod: Requesting): Room {
  return take(new Map(room), pod);
}

function take(room: Map<string, number>, pod: Requesting): Map<string, number> {
  if (isCompleted(pod)) return room;
  for (const [name, amount] of Object.entries({ ...pod.requests, pods: 1 })) {
    const left = room.get(name);
    if (left !== undefined) room.set(name, left - amount);
  }
  return room;
}
