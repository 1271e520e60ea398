/** Handles the end of a NodeEvacuation and the work that remains after it. */
import type { Action } from "../kube/action.ts";
import { type EvacuationFacts, isActive, isHeldOff } from "../kube/evacuation.ts";
import { isShutdown } from "../evacuation/shutdown.ts";
import { hasEnded, isOpen, type NodeCondition } from "../kube/node-evacuation.ts";
import { keyOf } from "../kube/objects.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { settledSince } from "./outcomes.ts";
import { nodeToDrain, ownEvacuations, rivalsOf } from "./questions.ts";
import { returning } from "./returning.ts";
import { unreadableEvacuations } from "./unreadable.ts";
import { vmOf } from "./vms.ts";
import { type NodeNext, type NodeWorld, ownerOf, wantedOf } from "./world.ts";

/**
 * Does the work that remains after the end. Once the node is uncordoned, moves VMs back to it, and starts the VMs that
 * were stopped.
 */
export function afterwards(w: NodeWorld): NodeNext | "Nothing" | undefined {
  const { ne } = w;
  if (!hasEnded(ne)) return undefined;
  const more = settledSince(w);
  const { message = "" } = ne.status;
  if (ne.status.phase !== "Evacuated") return leftOver(w, more);
  const isBack = isOpen(ne) && nodeToDrain(w)?.unschedulable !== true;
  if (!isBack) return more === undefined ? "Nothing" : { phase: "Evacuated", message, more };
  // Lifeboat requests the return of VMs only once. A VM whose return has failed stays where it is.
  const isTime = nodeToDrain(w) !== undefined && !ne.status.conditions.some(isReturned);
  return {
    phase: "Evacuated",
    message,
    more: { ...more, conditions: [returned(w)] },
    first: starts(w),
    chains: isTime ? returns(w) : [],
  };
}

function returns(w: NodeWorld): readonly (readonly Action[])[] {
  const { nodeName } = w.ne.spec;
  return returning(w).map((vmi) => [{ verb: "ReturnVm", vmi, node: nodeName, nodeEvacuation: w.ne }]);
}

function isReturned({ type }: NodeCondition): boolean {
  return type === "Returned";
}

/**
 * Reports the stopped VMs that have not been started again. Reports an Evacuation that cannot be parsed, too, because
 * its VM might be stopped. Lifeboat reconciles the NodeEvacuation until there is nothing to report.
 */
function returned(w: NodeWorld): NodeCondition {
  const held = ownEvacuations(w).filter(isHeldOff);
  const unread = unreadableEvacuations(w).map((one) => `${keyOf(one)}: ${one.message}`);
  const condition = { type: "Returned", lastTransitionTime: "" } as const;
  const refused = [...held.map((e) => `${vmOf(e)}: ${heldBecause(e)}`), ...unread];
  if (refused.length === 0) return { ...condition, status: "True", reason: "Uncordoned", message: "" };
  return { ...condition, status: "False", reason: "NotStarted", message: MESSAGES.notStartedAgain(refused) };
}

function heldBecause({ status }: EvacuationFacts): string {
  return status.conditions.find(({ type }) => type === "Released")?.message || MESSAGES.aboutToStart;
}

/**
 * Cleans up if another process of Lifeboat cordoned the node or created an Evacuation while the NodeEvacuation ended.
 */
function leftOver(w: NodeWorld, more: NodeNext["more"]): NodeNext | "Nothing" {
  const { phase = "Withdrawn", message = "" } = w.ne.status;
  const first = [...withdrawals(w), ...taken(w)];
  return first.length === 0 && more === undefined ? "Nothing" : { phase, message, more: more ?? {}, first };
}

/**
 * Withdraws the Evacuations of the NodeEvacuation. If the node no longer exists, migrations continue, and a VM that is
 * stopping or has stopped starts again.
 */
export function withdrawals(w: NodeWorld): readonly Action[] {
  const isThere = nodeToDrain(w) !== undefined;
  const isLeft = (e: EvacuationFacts) => isHeldOff(e) || (isActive(e) && (isThere || isShutdown(e)));
  return withdrawn(ownEvacuations(w).filter(isLeft));
}

/** Starts the VMs that Lifeboat has stopped or is stopping, by withdrawing their Evacuations. */
export function starts(w: NodeWorld): readonly Action[] {
  return withdrawn(ownEvacuations(w).filter((e) => isHeldOff(e) || e.status.phase === "Stopping"));
}

function withdrawn(evacuations: readonly EvacuationFacts[]): readonly Action[] {
  const wanted = evacuations.filter(({ spec }) => spec.intent !== "Withdrawn");
  return wanted.map((evacuation) => ({ verb: "WithdrawEvacuation", evacuation }));
}

/**
 * Removes Lifeboat's annotation from a node that somebody else has uncordoned. Otherwise, Lifeboat would mistake
 * a later cordon by somebody else for its own.
 */
export function disowned(w: NodeWorld): readonly Action[] {
  const [node, by] = [nodeToDrain(w), ownerOf(w.ne)];
  return node?.cordonedBy === by ? [{ verb: "Uncordon", node: node.name, by }] : [];
}

/** Removes the cordon of this or an earlier NodeEvacuation, unless another NodeEvacuation needs the cordon. */
export function taken(w: NodeWorld): readonly Action[] {
  const [node, rivals] = [nodeToDrain(w), rivalsOf(w)];
  const by = [w.ne, ...rivals.filter(hasEnded)].map(ownerOf).find((owner) => owner === node?.cordonedBy);
  return node === undefined || by === undefined || wantedOf(rivals, w.now).length > 0
    ? []
    : [{ verb: "Uncordon", node: node.name, by }];
}
