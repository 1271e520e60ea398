/** What rules say, where several say it: how an Evacuation waits, how an attempt fails, how it ends, and what its end takes back. */
import { type Action, recordEvent } from "../kube/action.ts";
import { backoffSeconds, backoffUntil, type KubeVirtBackoff, succeeded, whyFailed } from "./attempts.ts";
import type { MigrationFacts } from "../kube/facts.ts";
import type { EvacuationFacts, EvacuationStatus } from "../kube/evacuation.ts";
import { activeEvacuation, isAbout, ofVmi } from "./identity.ts";
import { isMarked } from "../settings/strategy.ts";
import { NAME_PREFIX } from "../kube/names.ts";
import { statusReleased } from "./status.ts";
import { secondsAfter, secondsSince, withoutFractions } from "../settings/time.ts";
import { type EvacuationWorld, type Facts, factsOf, inheritedAttempts, isQueued, type Next } from "./world.ts";
import { carriesDrainTaint, isFinal } from "../kube/objects.ts";

export function pending(message: string): Next {
  return { phase: "Pending", reason: "Pending", message };
}

export function blocked({ e, vmi }: Facts, reason: string, message: string): Next {
  const event = `cannot leave node ${vmi.nodeName}: ${message}`;
  return { phase: "Blocked", reason, message, after: [recordEvent(vmi, "NotMigratable", event, `${e.uid}-${reason}`)] };
}

export function failedBefore({ e }: Facts): Next {
  const { phase, reason = "", message = "" } = e.status;
  const why =
    phase === "BackingOff"
      ? { reason, message }
      : { reason: "MigrationFailed", message: "an attempt to move the VM has failed" };
  return { phase: "BackingOff", ...why, more: { nextAttemptTime: backoffUntil(e) } };
}

export function delayed({ vmi }: Facts, { name }: MigrationFacts, { failed, until }: KubeVirtBackoff): Next {
  const nextAttemptTime = new Date(until).toISOString();
  const why = `migration ${failed.name} has failed: ${whyFailed(failed, vmi)}`;
  const message = `${why}; KubeVirt's own back-off delays migration ${name} until ${withoutFractions(nextAttemptTime)}`;
  return { phase: "BackingOff", reason: "KubeVirtBackoff", message, more: { nextAttemptTime } };
}

export function follow({ w }: Facts, migration: MigrationFacts) {
  const { name, uid, targetNode } = migration;
  return {
    phase: "Migrating",
    ...progressOf(migration, w.now),
    more: { migration: { name, uid }, ...(targetNode === undefined ? {} : { targetNode }) },
  } as const satisfies Next;
}

/** virt-controller gives a new migration its first phase within moments. */
const UNANSWERED_SECONDS = 10;

function progressOf(migration: MigrationFacts, now: Date): Pick<Next, "reason" | "message"> {
  const { name, phase, createdAt } = migration;
  if (phase === "" && secondsSince(createdAt, now) >= UNANSWERED_SECONDS) {
    const message = `KubeVirt has not looked at migration ${name} since it was created: virt-controller does not run, or is far behind`;
    return { reason: "KubeVirtNotAnswering", message };
  }
  if (phase === "Synchronizing") {
    const message = `migration ${name} waits for the namespace or cluster that the VM is sent to; KubeVirt allows no other one`;
    return { reason: "Synchronizing", message };
  }
  if (isQueued(migration)) {
    return { reason: "Queued", message: `migration ${name} waits in KubeVirt's queue` };
  }
  if (phase === "Succeeded") return { reason: "Succeeded", message: `migration ${name} has moved the VM` };
  return { reason: "Running", message: `migration ${name} moves the VM` };
}

interface Failure {
  /** `MigrationRefused`: by KubeVirt's admission, or another one, for good. */
  readonly reason: "MigrationFailed" | "MigrationStuck" | "MigrationRefused";
  readonly message: string;
  readonly failures?: number;
  /** A stuck migration is deleted, and then it does not count again. */
  readonly counted?: Pick<EvacuationStatus, "lastFailedMigration">;
}

export function attemptFailed({ e, vmi, w }: Facts, failure: Failure) {
  const { reason, message, failures = 1, counted } = failure;
  const event = reason === "MigrationStuck" ? "MigrationFailed" : reason;
  const attempts = inheritedAttempts(e) + failures;
  const nextAttemptTime = secondsAfter(w.now, backoffSeconds(attempts, w.settings));
  const { maxAttempts } = w.settings.evacuation;
  const text = `attempt ${attempts} of ${maxAttempts} to move the VM off node ${vmi.nodeName} failed: ${message}`;
  return {
    phase: "BackingOff",
    reason,
    message,
    more: { ...counted, attempts, nextAttemptTime },
    stalled: false,
    after: [recordEvent(vmi, event, text, `${e.uid}-${attempts}`)],
  } as const satisfies Next;
}

export function ended(message: string): Next {
  return { phase: "Gone", reason: "VirtualMachineInstanceGone", message };
}

/** KubeVirt clears the mark itself when a VM has moved; the label is ours to remove. */
export function moved(f: Facts, targetNode: string | undefined): Next {
  const { e, vmi, migrations } = f;
  const to = targetNode === undefined ? "another namespace or cluster" : `node ${targetNode}`;
  const from = e.status.sourceNode === undefined ? "" : ` from node ${e.status.sourceNode}`;
  const message = `moved${from} to ${to}`;
  // A quick migration is over before a reconcile has seen it, or its end is not written yet: it is named now.
  const isArriving = (m: MigrationFacts) => !isFinal(m) && m.targetNode !== undefined && m.targetNode === vmi.nodeName;
  const migration = succeeded(f) ?? migrations.find(isArriving);
  const made = migration && { migration: { name: migration.name, uid: migration.uid } };
  return end(f, {
    phase: "Moved",
    reason: "Moved",
    message,
    more: { ...made, ...(targetNode === undefined ? {} : { targetNode }) },
    after: [recordEvent(vmi, "Evacuated", `${message} (cause ${e.spec.cause})`, e.uid)],
  });
}

export function withdraw(f: Facts, by: "Intent" | "Taint" | "Preemption" | "Mark", why: string): Next {
  const { e, vmi, w } = f;
  const { message, more } = endWith(f, why);
  // A taint or a preemption that comes back begins a new one at once, even if an attempt was backing off.
  const seconds = by === "Taint" || by === "Preemption" ? 0 : backoffSeconds(e.status.attempts, w.settings);
  return end(f, {
    phase: "Withdrawn",
    reason: `${by}Withdrawn`,
    message,
    more: { ...more, nextAttemptTime: secondsAfter(w.now, seconds) },
    after: [recordEvent(vmi, "EvacuationCancelled", `evacuation from node ${vmi.nodeName} ends: ${message}`, e.uid)],
  });
}

export function giveUp(f: Facts, reason: string, why: string, seconds?: number): Next {
  const { e, vmi, w } = f;
  const { message, more } = endWith(f, why);
  return end(f, {
    phase: "Abandoned",
    reason,
    message,
    more: { ...more, ...(seconds !== undefined && { nextAttemptTime: secondsAfter(w.now, seconds) }) },
    after: [
      recordEvent(vmi, "EvacuationAbandoned", `evacuation from node ${vmi.nodeName} is abandoned: ${message}`, e.uid),
    ],
  });
}

/** The VM may move all the same, which the end says. */
function endWith({ migrations }: Facts, why: string): Pick<Next, "message" | "more"> {
  const left = migrations.find((m) => !isFinal(m) && !m.deleting && (m.phase === "Running" || !isOwn(m)));
  if (left === undefined) return { message: why };
  const { name, uid, phase, targetNode } = left;
  const continues =
    phase === "Running"
      ? `migration ${name} already moves the VM, and Lifeboat lets it finish`
      : `migration ${name} is not Lifeboat's to delete, and may still move the VM`;
  const more = { migration: { name, uid }, ...(targetNode === undefined ? {} : { targetNode }) };
  return { message: `${why}; ${continues}`, more };
}

/** What is left is taken back by the next reconcile, which knows that it has ended and what has started since. */
function end(f: Facts, next: Next): Next {
  return { ...next, released: leftOf(f, next).length === 0 };
}

/** KubeVirt's for the mark, and ours; what a person or an external controller has created is theirs to delete. */
function isOwn({ evacuates, name }: MigrationFacts): boolean {
  return evacuates !== undefined || name.startsWith(NAME_PREFIX);
}

/** Its mark and label, and migrations that have not started: aborting one that has could do harm. What came after a move is another one's. */
function leftOf({ e, vmi, migrations }: Facts, end: Pick<EvacuationStatus, "phase" | "reason">): readonly Action[] {
  const isGone = end.phase === "Moved" || !isAbout(e, vmi);
  if (isMarked(vmi) && (isGone || end.reason === "MarkWithdrawn")) return [];
  const isLeft = vmi.evacuationNodeName !== undefined || vmi.evacuationLabel !== undefined;
  const unmarked: readonly Action[] = isLeft ? [{ verb: "Unmark", vmi }] : [];
  const waiting = migrations.filter((m) => isOwn(m) && !isFinal(m) && !m.deleting && m.phase !== "Running");
  return isGone
    ? unmarked
    : [...unmarked, ...waiting.map((migration) => ({ verb: "DeleteMigration", migration }) as const)];
}

/** Takes back what one that has ended has left, and says so: another function finishes it if the first one dies. */
export function release(e: EvacuationFacts, w: EvacuationWorld): readonly Action[] {
  const said = (why?: string): Action => {
    return { verb: "WriteStatus", evacuation: e, status: statusReleased(e, w.now, why) };
  };
  const f = factsOf(e, w);
  const { virtualMachineInstanceUID: uid = f?.vmi.uid } = e.status;
  if (f === undefined || uid !== f.vmi.uid || isFinal(f.vmi) || f.vmi.deleting) return [said("the VM has ended")];
  const other = isAbout(e, f.vmi) ? undefined : activeEvacuation(f.vmi, ofVmi(w.evacuations, f.vmi));
  if (other !== undefined) return [said(`Evacuation ${other.name} continues`)];
  const left = leftOf(f, e.status);
  return [...left, said(left.length > 0 ? keptBy(f) : undefined)];
}

function keptBy({ vmi: { evacuationNodeName: name }, w }: Facts): string | undefined {
  if (name === undefined) return undefined;
  const node = w.nodes.find((one) => one.name === name);
  if (node === undefined) return `KubeVirt keeps the mark: node ${name} is gone`;
  return carriesDrainTaint(node, w.settings)
    ? `KubeVirt keeps the mark: node ${name} carries the drain taint ${w.settings.drainTaintKey}`
    : undefined;
}
