/**
 * If a NodeEvacuation drains a node, asks KubeVirt to restart or stop the node's VMs that cannot move. The first row of
 * ASKED_ROWS that matches the situation applies. Lifeboat writes the Evacuation's status before it sends the request.
 */
import { recordEvent } from "../kube/action.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { hasEnded, type NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { isLive } from "../settings/strategy.ts";
import { secondsAfter, secondsUntil } from "../settings/time.ts";
import { ended, moved } from "./ends.ts";
import { type Asking, askingOf } from "./asking.ts";
import { EVACUATION_MESSAGES as MESSAGES } from "./messages.ts";
import * as shutdown from "./shutdown.ts";
import { isAnother, isForFailures, isOff, isRestart, isWithdrawn, LOST_SECONDS, type RequestCase } from "./shutdown.ts";
import { isElsewhere, type Next } from "./world.ts";

export type AskedRow = shutdown.Row<Next | "Wait">;

export function nextOfShutdown(q: RequestCase): Next | "Wait" {
  const row = ASKED_ROWS.find(({ asked, applies }) => isAbout(asked, q.e) && applies(q));
  return row === undefined ? "Wait" : row.answer(q);
}

function isAbout(asked: AskedRow["asked"], e: EvacuationFacts): boolean {
  const { phase } = e.status;
  if (phase !== "Restarting" && phase !== "Stopping") return asked === "nothing yet";
  return asked === "restart or stop" || asked === (isRestart(e) ? "restart" : "stop");
}

function around({ e, f, w }: RequestCase): Asking {
  return askingOf(e, f?.vmi.uid, w.facts);
}

const isAround = (is: (asking: Asking, q: RequestCase) => boolean) => (q: RequestCase) => is(around(q), q);

const canMigrate = ({ e, f }: RequestCase) => f?.vmi.liveMigratable.migratable === true && !isForFailures(e);

// prettier-ignore
export const ASKED_ROWS: readonly AskedRow[] = [
  { asked: "nothing yet", since: "the VM has migrated", so: "the evacuation ends: Moved",
    applies: hasMigrated, answer: movedAway },
  { asked: "nothing yet", since: "the VM has ended", so: "the evacuation ends: Gone",
    applies: ({ f }) => f === undefined || !isLive(f.vmi), answer: () => ended(MESSAGES.vmEnded) },
  { asked: "nothing yet", since: "the NodeEvacuation was cancelled or has ended", so: "Lifeboat asks nothing",
    applies: ({ e }) => isWithdrawn(e), answer: () => withdrawn(MESSAGES.withdrawn) },
  { asked: "nothing yet", since: "the VM can migrate", so: "Lifeboat asks nothing: the VM migrates",
    applies: canMigrate, answer: () => withdrawn(MESSAGES.canMigrateNow) },
  { asked: "nothing yet", since: "nothing", so: "Lifeboat asks KubeVirt",
    applies: () => true, answer: ask },

  { asked: "restart or stop", since: "the VM has migrated", so: "the evacuation ends: Moved",
    applies: hasMigrated, answer: movedAway },
  { asked: "restart", since: "the VM runs again", so: "the evacuation ends: Restarted",
    applies: (q) => isAnother(q) && q.f?.vmi.phase === "Running" && q.f.vmi.nodeName !== undefined, answer: restarted },
  { asked: "restart", since: "the NodeEvacuation was cancelled, or the owner has stopped or deleted the VM; the VM is off or about to start", so: "Lifeboat does not wait: KubeVirt starts the VM, unless its owner has stopped or deleted it",
    applies: (q) => (isOff(q.f?.vmi) || isAnother(q)) && isWithdrawn(q.e), answer: () => withdrawn(MESSAGES.withdrawnWhileOff) },
  { asked: "restart", since: "the VM is about to start", so: "Lifeboat waits",
    applies: isAnother, answer: ({ e }) => asked(e, "Starting", MESSAGES.startsElsewhere) },
  { asked: "stop", since: "another party has started the VM again", so: "the evacuation ends: the owner decides about the VM",
    applies: isAnother, answer: () => ended(MESSAGES.startedByAnother) },
  { asked: "restart", since: "the VM is off", so: "Lifeboat waits until the VM starts; after 300 s, Lifeboat names the VM as a blocker",
    applies: ({ f }) => isOff(f?.vmi), answer: ({ e }) => asked(e, "Starting", MESSAGES.offAndStartsElsewhere) },
  { asked: "stop", since: "the VM is off", so: "the evacuation ends: Stopped",
    applies: ({ f }) => isOff(f?.vmi), answer: stopped },
  { asked: "restart or stop", since: "the guest shuts down", so: "Lifeboat waits, also after a cancellation",
    applies: ({ f }) => f?.vmi.deleting === true, answer: ({ e }) => asked(e, "ShuttingDown", MESSAGES.shutsDown) },
  { asked: "restart or stop", since: "nothing yet, and less than 60 s have passed", so: "Lifeboat waits: KubeVirt might still receive the request",
    applies: ({ e, w }) => secondsUntil(shutdown.askedUntil(e), w.now) > 0, answer: ({ e }) => asked(e, e.status.reason ?? "", e.status.message ?? "") },
  { asked: "restart or stop", since: "the VirtualMachine was deleted", so: "Lifeboat does not ask KubeVirt again",
    applies: isAround(({ vm }) => vm === undefined), answer: () => withdrawn(MESSAGES.vmDeleted) },
  { asked: "restart or stop", since: "KubeVirt has the request, and virt-controller has not acted on it", so: "Lifeboat waits, also after a cancellation; a VM that stops despite a cancellation starts again",
    applies: isAround(({ vm }, { e }) => vm !== undefined && shutdown.isPending(e, vm)), answer: pending },
  { asked: "restart or stop", since: "the VM's owner has changed the run strategy", so: "Lifeboat does not ask KubeVirt again",
    applies: isAround(({ vm }, { e }) => vm?.runStrategy !== e.spec.runStrategy), answer: () => withdrawn(MESSAGES.runStrategyChanged) },
  { asked: "restart or stop", since: "the NodeEvacuation was cancelled or has ended", so: "Lifeboat does not ask KubeVirt again",
    applies: isAround(({ ne }, { e }) => isWithdrawn(e) || ne === undefined || hasEnded(ne) || ne.spec.intent === "Withdrawn"), answer: () => withdrawn(MESSAGES.requestEnded) },
  { asked: "restart or stop", since: "the VM can migrate", so: "Lifeboat does not ask KubeVirt again: the VM migrates",
    applies: canMigrate, answer: () => withdrawn(MESSAGES.canMigrateNow) },
  { asked: "restart or stop", since: "the NodeEvacuation was paused, or the node uncordoned", so: "Lifeboat does not ask KubeVirt again until the NodeEvacuation continues and the node is cordoned",
    applies: isAround(({ ne, node }) => ne?.spec.progress === "Paused" || node?.unschedulable !== true), answer: held },
  { asked: "restart or stop", since: "a disruption budget would refuse the eviction of the VM's pod", so: "Lifeboat does not ask KubeVirt again until the budget allows the eviction",
    applies: isAround(({ refusal }) => refusal !== undefined), answer: held },
  { asked: "restart or stop", since: "nothing within 60 s: the request was refused or lost", so: "Lifeboat asks KubeVirt again",
    applies: () => true, answer: askAgain },
];

/** Returns whether the VM has migrated. Returns false if the VMI has another UID, because the VM has then restarted. */
function hasMigrated({ f }: RequestCase): boolean {
  if (f === undefined) return false;
  const { vmi, e } = f;
  return vmi.uid === (e.status.virtualMachineInstanceUID ?? vmi.uid) && isLive(vmi) && isElsewhere(f);
}

function movedAway({ f }: RequestCase): Next | "Wait" {
  return f === undefined ? "Wait" : moved(f, f.vmi.nodeName);
}

function withdrawn(message: string): Next {
  return { phase: "Withdrawn", reason: "IntentWithdrawn", message };
}

function asked(e: EvacuationFacts, reason: string, message: string): Next {
  return { phase: isRestart(e) ? "Restarting" : "Stopping", reason, message };
}

/**
 * Prepares a request. Lifeboat writes the status before it sends the request, so that no other process repeats the
 * request.
 */
function asking({ w }: RequestCase, vmi: VmiFacts, e: EvacuationFacts): Pick<Next, "more" | "after"> {
  return { more: { nextAttemptTime: secondsAfter(w.now, LOST_SECONDS) }, after: [{ verb: "ShutDown", e, vmi }] };
}

function ask(q: RequestCase): Next | "Wait" {
  const { e, f } = q;
  if (f === undefined) return "Wait";
  const [reason, message] = isRestart(e)
    ? (["Restarted", MESSAGES.askedToRestart] as const)
    : (["Stopped", MESSAGES.askedToStop] as const);
  const event = recordEvent(f.vmi, reason, message, e.uid);
  const { more = {}, after = [] } = asking(q, f.vmi, e);
  return { ...asked(e, "Asked", message), more, after: [event, ...after] };
}

function askAgain(q: RequestCase): Next | "Wait" {
  const { e, f } = q;
  if (f === undefined) return "Wait";
  return { ...asked(e, "NotTaken", MESSAGES.askedAgain(LOST_SECONDS)), ...asking(q, f.vmi, e) };
}

function pending({ e }: RequestCase): Next {
  return asked(e, "Pending", MESSAGES.requestPending(isWithdrawn(e) && !isRestart(e)));
}

function held(q: RequestCase): Next {
  const { ne, node, refusal } = around(q);
  const open = node?.unschedulable === true ? undefined : MESSAGES.nodeSchedulable;
  const why = pauseOf(ne) ?? open ?? refusal?.message ?? "";
  return asked(q.e, "Held", MESSAGES.requestHeld(why));
}

function pauseOf(ne: NodeEvacuationFacts | undefined): string | undefined {
  if (ne?.spec.progress !== "Paused") return undefined;
  const issue = ne.owner?.unreadable;
  return issue === undefined ? MESSAGES.paused(ne.owner !== undefined) : MESSAGES.ownerUnreadable(issue);
}

function restarted({ f }: RequestCase): Next {
  const nodeName = f?.vmi.nodeName ?? "";
  return {
    phase: "Restarted",
    reason: "Restarted",
    message: MESSAGES.restarted(nodeName),
    more: { targetNode: nodeName },
  };
}

function stopped({ e }: RequestCase): Next {
  const message = isWithdrawn(e) ? MESSAGES.stoppedThenCancelled : MESSAGES.stopped(e);
  return { phase: "Stopped", reason: "Stopped", message, released: false };
}
