/**
 * Lists the actions that Lifeboat may decide on cached facts. Cached facts can be outdated, but these actions then do
 * no harm. Lifeboat decides all other actions again on live facts.
 */
import type { Action } from "../kube/action.ts";
import { isEnd, type Phase } from "../kube/evacuation.ts";

/**
 * The decisions that may use cached facts. A decision on the deletion of a pod always uses live facts, because an
 * allowed deletion stops a VM, and no other webhook protects the VM.
 */
export type Decision = "Eviction" | "Reconcile";

/**
 * For each action, the decisions that may perform it on cached facts. An action that is not listed needs live facts.
 */
const SAFE_ON_CACHED_FACTS: { readonly [Verb in Action["verb"]]?: readonly Decision[] } = {
  // The Evacuation's name contains the pod's UID and a counter, so the same Evacuation is not created twice.
  CreateEvacuation: ["Eviction"],
  CreateBudget: ["Eviction"],
  Event: ["Reconcile"],
  // The write fails if the Evacuation has changed since it was read.
  AddRequester: ["Eviction"],
  // The patch checks the UID and writes values that never change.
  AnnotateMigration: ["Reconcile"],
  // The write fails if the Evacuation has changed since it was read. A status that ends an Evacuation or records a
  // failed attempt still needs live facts, because Lifeboat cannot undo it.
  WriteStatus: ["Reconcile"],
};

const CONTINUING: ReadonlySet<Phase> = new Set(["Pending", "Migrating", "WaitingForExternalController"]);

export function isSafeOnCachedFacts(action: Action, decision: Decision): boolean {
  if (SAFE_ON_CACHED_FACTS[action.verb]?.includes(decision) !== true) return false;
  return action.verb !== "WriteStatus" || CONTINUING.has(action.status.phase ?? "Pending");
}

/** Returns whether the action is safe if only the VMI was read live, and all other facts can be outdated. */
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
