/**
 * The descheduling register: what cycles tell each other that run at the same time, or die.
 * Owns: reservations, counts, and when the next cycle is due. Does not own: the compare-and-set that makes it true
 * (writes/write-register.ts), the request times on pods (in-progress.ts).
 *
 * Before a cycle requests a pod it writes a reservation here, unless another cycle has written since this one read the
 * register. It reads the register before the pods, so it knows every other cycle's requests: of two cycles at once, one
 * goes on and the other ends at its first write.
 */
import type { NamespacedName } from "../../policy/facts.ts";
import type { DeschedulerPod } from "../plugins/facts.ts";
import type { EvictionOutcome } from "./eviction-answer.ts";

/** A pod whose evacuation is about to be requested: it counts, although nothing on the pod says so yet. */
export interface Reservation extends NamespacedName {
  readonly uid: string;
  readonly node: string;
  /** RFC 3339; expires as the request time on the pod would. */
  readonly at: string;
}

/** The outcomes of a plugin's requests since the register was made. */
export interface RequestCount {
  readonly profile: string;
  readonly plugin: string;
  readonly result: EvictionOutcome;
  readonly count: number;
}

/** What the next write is conditional on. `Empty`: the ConfigMap is there without the key. */
export type Found =
  | { readonly found: "Nothing" }
  | { readonly found: "Empty"; readonly resourceVersion: string }
  | { readonly found: "Text"; readonly text: string };

export interface DeschedulingRegister {
  readonly found: Found;
  /** Grows with every write, so that no two texts are the same. */
  readonly revision: number;
  /** RFC 3339: when the last cycle began. */
  readonly lastCycle?: string;
  readonly reservations: readonly Reservation[];
  readonly counts: readonly RequestCount[];
}

export const EMPTY_REGISTER: Omit<DeschedulingRegister, "found"> = { revision: 0, reservations: [], counts: [] };

/** One entry a line, for people who read the ConfigMap. */
export function registerText(register: DeschedulingRegister): string {
  const { revision, lastCycle, reservations, counts } = register;
  const head = JSON.stringify({ revision, lastCycle });
  return `${head.slice(0, -1)},\n"reservations":${linesOf(reservations)},\n"counts":${linesOf(counts)}}`;
}

function linesOf(entries: readonly unknown[]): string {
  return `[${entries.map((entry) => `\n  ${JSON.stringify(entry)}`).join()}]`;
}

/** The register after a write of it: what the next one tests. */
export function written(register: DeschedulingRegister): DeschedulingRegister {
  const next = { ...register, revision: register.revision + 1 };
  return { ...next, found: { found: "Text", text: registerText(next) } };
}

export function reservationOf({ namespace, name, uid, nodeName }: DeschedulerPod, now: Date): Reservation {
  return { namespace, name, uid, node: nodeName, at: now.toISOString() };
}

/** One more. */
export function counted(
  counts: readonly RequestCount[],
  { profile, plugin, result }: Omit<RequestCount, "count">,
): readonly RequestCount[] {
  const isSame = (c: RequestCount) => c.profile === profile && c.plugin === plugin && c.result === result;
  const before = counts.find(isSame)?.count ?? 0;
  return [...counts.filter((c) => !isSame(c)), { profile, plugin, result, count: before + 1 }];
}

/** Whether a cycle is due. A last cycle in the future was not one of Lifeboat's. */
export function isDue({ lastCycle }: DeschedulingRegister, intervalSeconds: number, now: Date): boolean {
  if (intervalSeconds <= 0) return false;
  const age = (now.getTime() - Date.parse(lastCycle ?? "")) / 1000;
  return Number.isNaN(age) || age < -intervalSeconds || age >= intervalSeconds;
}
