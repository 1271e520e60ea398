/**
 * Requests of a function to a simulated API server: anything may happen before the answer, and the answer may be none.
 * Owns: what can go wrong with one. Does not own: who asks (pass.ts, doors.ts), what the cluster does (cluster.ts).
 */
import type { Action } from "../../../shared/policy/action.ts";
import { isTooLate } from "../../../shared/policy/fresh.ts";
import type { ActResult, SimulatedCluster } from "./cluster.ts";

export const FAULTS = ["lost answer", "not done", "conflict", "late"] as const;

/**
 * `lost answer`: done, but nobody hears of it. `not done`: an error, and it is true. `conflict`: refused, as if somebody had
 * been faster. `late`: what is read is what was there when it was asked for.
 */
export type Fault = (typeof FAULTS)[number];

/** Every step of a function is the answer to one request; it hears what went wrong with it. */
export type Steps<T> = Generator<void, T, Fault | undefined>;

export const FAILED = Symbol("no answer");

export function* read<T>(cluster: SimulatedCluster, what: (cluster: SimulatedCluster) => T): Steps<T | typeof FAILED> {
  const asked = what(cluster);
  const fault = yield;
  if (fault === "late") return asked;
  return fault === "lost answer" || fault === "not done" ? FAILED : what(cluster);
}

/** `seen`: when whoever decided on it began to look. Whoever is too late stalled before sending: the way takes no time. */
export function* act(cluster: SimulatedCluster, action: Action, seen?: Date): Steps<ActResult | typeof FAILED> {
  const fault = yield;
  const tooLate = seen !== undefined && isTooLate(action, seen, cluster.now);
  if (tooLate || fault === "conflict") return "Conflict";
  if (fault === "not done") return FAILED;
  const result = cluster.act(action, seen);
  return fault === "lost answer" ? FAILED : result;
}
