/**
 * Actions that are safe on cached facts, which may be old. For all other actions Lifeboat decides again on live facts.
 */
import type { Action } from "../kube/action.ts";
import { isEnd, type Phase } from "../kube/evacuation.ts";

/**
 * Deletions are not listed, because Lifeboat reviews deletions on live facts: an allowed deletion ends a VM, and no
 * other webhook protects it.
 */
export type Decision = "Eviction" | "Reconcile";

/**
 * For each action, the decisions that may take the action on cached facts. An action without a row needs live facts.
 */
const SAFE_ON_CACHED_FACTS: { readonly [Verb in Action["verb"]]?: readonly Decision[] } = {
  // The name of the Evacuation contains the pod's UID and a counter, so Lifeboat joins an existing Evacuation.
  CreateEvacuation: ["Eviction"],
  CreateBudget: ["Eviction"],
  Event: ["Reconcile"],
  // The write fails if the Evacuation has changed since Lifeboat read it.
  AddRequester: ["Eviction"],
  // The patch tests the UID, and writes values that never change.
  AnnotateMigration: ["Reconcile"],
  // The write fails if the Evacuation has changed since Lifeboat read it. A status that ends an Evacuation or adds a
  // failed attempt needs live facts, because no later reconcile can undo the status.
  WriteStatus: ["Reconcile"],
};

const CONTINUING: ReadonlySet<Phase> = new Set(["Pending", "Migrating", "WaitingForExternalController"]);

export function isSafeOnCachedFacts(action: Action, decision: Decision): boolean {
  if (SAFE_ON_CACHED_FACTS[action.verb]?.includes(decision) !== true) return false;
  return action.verb !== "WriteStatus" || CONTINUING.has(action.status.phase ?? "Pending");
}

/**
 * Returns whether the action is safe if only the VMI was read live. The live VMI is enough to write the phase Moved.
 */
export function isSafeWithLiveVmi(action: Action): boolean {
  const hasMoved = action.verb === "WriteStatus" && action.status.phase === "Moved";
  return hasMoved || isSafeOnCachedFacts(action, "Reconcile");
}

/** Returns whether the action is safe if the VMI and its Evacuations were read at the same time. */
export function isSafeOnOneReading(action: Action): boolean {
  if (action.verb === "CreateEvacuation") return false;
  if (action.verb !== "WriteStatus") return true;
  const { phase = "Pending" } = action.evacuation.status;
  return !isEnd(phase) && action.status.reason !== "MarkWithdrawn";
}
