/** Actions that are safe on cached facts, which may be old. For all other actions Lifeboat decides again on live facts. */
import type { Action } from "../kube/action.ts";
import { isEnd, type Phase } from "../kube/evacuation.ts";

/** Deletions are reviewed on live facts: to allow one ends a VM, and no other webhook stands beside it. */
export type Decision = "Eviction" | "Reconcile";

/** The decisions that may take an action on cached facts. An action without a row is safe in none. */
const SAFE_ON_CACHED_FACTS: { readonly [Verb in Action["verb"]]?: readonly Decision[] } = {
  // The name of the Evacuation says which pod it is about, and counts up: an Evacuation that exists is joined, or read. One too many ends as a Duplicate.
  CreateEvacuation: ["Eviction"],
  // The budget is looked for first.
  CreateBudget: ["Eviction"],
  Event: ["Reconcile"],
  // The write tests the version that was read.
  AddRequester: ["Eviction"],
  // The patch tests the UID, and says what stays true.
  AnnotateMigration: ["Reconcile"],
  // The write tests the version that was read. Ends and failed attempts have consequences that no later reconcile takes back.
  WriteStatus: ["Reconcile"],
};

const CONTINUING: ReadonlySet<Phase> = new Set(["Pending", "Migrating", "WaitingForExternalController"]);

export function isSafeOnCachedFacts(action: Action, decision: Decision): boolean {
  if (SAFE_ON_CACHED_FACTS[action.verb]?.includes(decision) !== true) return false;
  return action.verb !== "WriteStatus" || CONTINUING.has(action.status.phase ?? "Pending");
}

/** For a world that is old but for its VMI: a VMI that is elsewhere has left. */
export function isSafeWithLiveVmi(action: Action): boolean {
  const hasMoved = action.verb === "WriteStatus" && action.status.phase === "Moved";
  return hasMoved || isSafeOnCachedFacts(action, "Reconcile");
}

/** For a VMI that was read at the same time as its Evacuations: a mark that seems to be missing or left may be that of the next Evacuation. */
export function isSafeOnOneReading(action: Action): boolean {
  if (action.verb === "CreateEvacuation") return false;
  if (action.verb !== "WriteStatus") return true;
  const { phase = "Pending" } = action.evacuation.status;
  return !isEnd(phase) && action.status.reason !== "MarkWithdrawn";
}
