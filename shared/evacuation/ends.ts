/**
 * Ends the Evacuation of a VM that should migrate, and cleans up. asked.ts ends the Evacuations of VMs that restart or
 * stop.
 */
import { together } from "../facts/facts.ts";
import { type Action, recordEvent } from "../kube/action.ts";
import type { EvacuationFacts, EvacuationStatus } from "../kube/evacuation.ts";
import type { MigrationFacts, VmiFacts } from "../kube/facts.ts";
import { NAME_PREFIX } from "../kube/names.ts";
import { carriesDrainTaint, drivingTaint, isAlive, isFinal, named } from "../kube/objects.ts";
import { resolveStrategy } from "../settings/strategy.ts";
import { secondsAfter } from "../settings/time.ts";
import * as attempts from "./attempts.ts";
import { activeEvacuation, isAbout, ofVmi, podUIDOf } from "./identity.ts";
import * as marks from "./mark.ts";
import { EVACUATION_MESSAGES as MESSAGES } from "./messages.ts";
import { statusReleased } from "./status.ts";
import * as world from "./world.ts";
import type { EvacuationWorld, EvacuationCase, Next } from "./world.ts";

/** Ends the Evacuation if its VMI is being deleted, has reached a final phase, or was replaced by a new VMI. */
export function vmiGone(f: EvacuationCase): Next | undefined {
  const { e, vmi } = f;
  if ((e.status.virtualMachineInstanceUID ?? vmi.uid) !== vmi.uid) {
    return ended(MESSAGES.recreated);
  }
  if (!vmi.deleting && !isFinal(vmi)) return undefined;
  // After a migration to another cluster, the VMI in this cluster is in a final phase, too.
  return attempts.succeeded(f)?.decentralized === "Sends" ? moved(f, undefined) : ended(MESSAGES.vmEnded);
}

/** Ends the Evacuation if the VM has migrated, or runs on another node. */
export function arrived(f: EvacuationCase): Next | undefined {
  const migration = attempts.succeeded(f);
  if (migration === undefined) return world.isElsewhere(f) ? moved(f, f.vmi.nodeName) : undefined;
  if (migration.decentralized !== undefined || world.isShownLater(f, migration)) return undefined;
  return moved(f, migration.targetNode ?? f.vmi.nodeName);
}

/** Ends the Evacuation if an older Evacuation of the VM is active. */
export function duplicate({ e, vmi, w }: EvacuationCase): Next | undefined {
  const first = activeEvacuation(vmi, ofVmi(w.evacuations, vmi), podUIDOf(e));
  if (first === undefined || first.uid === e.uid) return undefined;
  return { phase: "Duplicate", reason: "Duplicate", message: MESSAGES.duplicate(first.name) };
}

/** Ends the Evacuation if a person has withdrawn it. */
export function withdrawn(f: EvacuationCase): Next | undefined {
  return f.e.spec.intent === "Withdrawn" ? withdraw(f, "Intent", MESSAGES.withdrawn) : undefined;
}

/** Ends an Evacuation with the cause DrainTaint if the VM's node no longer has the drain taint. */
export function drainTaintGone(f: EvacuationCase): Next | undefined {
  const node = f.e.spec.cause === "DrainTaint" ? world.nodeOf(f.vmi, f.w.facts) : undefined;
  if (node === undefined || world.isWantedBesides(f)) return undefined;
  const isDriven = marks.isMarked(f.vmi) || carriesDrainTaint(node, f.w.settings);
  return isDriven ? undefined : withdraw(f, "Taint", MESSAGES.drainTaintGone(node.name));
}

/** Ends an Evacuation with the cause NoExecuteTaint if the node no longer has a NoExecute taint that evicts the pod. */
export function noExecuteTaintGone(f: EvacuationCase): Next | "Wait" | undefined {
  if (f.e.spec.cause !== "NoExecuteTaint") return undefined;
  const [node, pod] = together(
    () => world.nodeOf(f.vmi, f.w.facts),
    () => world.podOf(f),
  );
  if (node === undefined || pod === undefined || world.isWantedBesides(f)) return undefined;
  if (!isAlive(node) || drivingTaint(node, pod) !== undefined) return undefined;
  return marks.isMarkOnItsWay(f) ? "Wait" : withdraw(f, "Taint", MESSAGES.noExecuteTaintGone(node.name));
}

/** Ends the Evacuation if the scheduler has chosen other victims and no migration is running. */
export function preemptionOver(f: EvacuationCase): Next | undefined {
  if (!world.isPreemptionOverdue(f.e, f.w.now) || world.isWantedBesides(f)) return undefined;
  if (f.migrations.some(({ phase }) => phase === "Running")) return undefined;
  const pod = world.podOf(f);
  if (pod === undefined || pod.deleting) return undefined;
  return withdraw(f, "Preemption", MESSAGES.preemptionOver(pod));
}

/** Ends the Evacuation if a person has removed the VMI's evacuationNodeName and no migration is running. */
export function markRemoved(f: EvacuationCase): Next | undefined {
  return marks.isTakenBack(f) && f.migration?.phase !== "Running"
    ? withdraw(f, "Mark", MESSAGES.markRemoved)
    : undefined;
}

/**
 * Ends the Evacuation if the maximum number of attempts has failed. An Evacuation makes at least one attempt of its
 * own, even if the VM's earlier Evacuation used up all attempts.
 */
export function exhausted(f: EvacuationCase): Next | undefined {
  const { spec, status } = f.e;
  const { attempts: failed, message = "", reason = "MigrationFailed" } = status;
  if (failed <= (spec.inherited?.attempts ?? 0) || failed < f.w.settings.evacuation.maxAttempts) return undefined;
  return giveUp(f, reason, MESSAGES.exhausted(failed, message), attempts.backoffSeconds(failed, f.w.settings));
}

/**
 * Ends the Evacuation if the eviction strategy is unknown or None. Also ends an Evacuation that a person requested if
 * all of this is true: the VM cannot migrate, it has neither an evacuationNodeName nor a migration, and no external
 * controller moves it.
 */
export function cannotMigrate(f: EvacuationCase): Next | undefined {
  const { e, vmi, migration, w } = f;
  const resolved = resolveStrategy(vmi, w.settings);
  if (!resolved.known) {
    return giveUp(f, "UnknownStrategy", MESSAGES.unknownStrategy(resolved.field, resolved.value.slice(0, 64)));
  }
  if (resolved.strategy === "None") {
    return giveUp(f, "StrategyNone", MESSAGES.strategyNone);
  }
  const isByHand = e.spec.cause === "Operator" && !marks.isMarked(vmi) && migration === undefined;
  const found = isByHand && !world.isExternal(f) ? pinnedBy(vmi) : undefined;
  return found && giveUp(f, found.reason, found.message);
}

/** Returns why the VM cannot migrate. Returns undefined if the VM can migrate. */
export function pinnedBy({ liveMigratable }: VmiFacts): Pick<Next, "reason" | "message"> | undefined {
  const { migratable, reason = "", message = MESSAGES.noReason } = liveMigratable;
  if (migratable) return undefined;
  // The CRD accepts only a reason of this pattern.
  const isWord = /^[A-Za-z][A-Za-z0-9]{0,255}$/.test(reason);
  return {
    reason: isWord ? reason : "NotLiveMigratable",
    message: MESSAGES.notMigratable(message),
  };
}

export function ended(message: string): Next {
  return { phase: "Gone", reason: "VirtualMachineInstanceGone", message };
}

/**
 * Ends the Evacuation of a VM that has moved. Lifeboat removes its own label from the VMI, and KubeVirt removes the
 * evacuationNodeName.
 */
export function moved(f: EvacuationCase, targetNode: string | undefined): Next {
  const { e, vmi, migrations } = f;
  const message = MESSAGES.moved(e.status.sourceNode, targetNode);
  const isLast = ({ uid, phase }: MigrationFacts) => uid === vmi.lastMigration?.uid && phase !== "Failed";
  const migration = attempts.succeeded(f) ?? migrations.find(isLast);
  const made = migration && { migration: { name: migration.name, uid: migration.uid } };
  return end(f, {
    phase: "Moved",
    reason: "Moved",
    message,
    more: { ...made, ...(targetNode === undefined ? {} : { targetNode }) },
    after: [recordEvent(vmi, "Evacuated", MESSAGES.movedBy(message, e.spec.cause), e.uid)],
  });
}

export function withdraw(f: EvacuationCase, by: "Intent" | "Taint" | "Preemption" | "Mark", why: string): Next {
  const { e, vmi, w } = f;
  const { message, more } = endWith(f, why);
  // If the evacuation ends because a taint or a preemption is over, a new Evacuation can start without a back-off.
  const seconds = by === "Taint" || by === "Preemption" ? 0 : attempts.backoffSeconds(e.status.attempts, w.settings);
  return end(f, {
    phase: "Withdrawn",
    reason: `${by}Withdrawn`,
    message,
    more: { ...more, nextAttemptTime: secondsAfter(w.now, seconds) },
    after: [recordEvent(vmi, "EvacuationCancelled", MESSAGES.ends(vmi.nodeName, message), e.uid)],
  });
}

export function giveUp(f: EvacuationCase, reason: string, why: string, seconds?: number): Next {
  const { e, vmi, w } = f;
  const { message, more } = endWith(f, why);
  return end(f, {
    phase: "Abandoned",
    reason,
    message,
    more: { ...more, ...(seconds !== undefined && { nextAttemptTime: secondsAfter(w.now, seconds) }) },
    after: [recordEvent(vmi, "EvacuationAbandoned", MESSAGES.abandoned(vmi.nodeName, message), e.uid)],
  });
}

function endWith({ migrations }: EvacuationCase, why: string): Pick<Next, "message" | "more"> {
  const left = migrations.find((m) => !isFinal(m) && !m.deleting && (m.phase === "Running" || !isOwn(m)));
  if (left === undefined) return { message: why };
  const { name, uid, phase, targetNode } = left;
  const continues = phase === "Running" ? MESSAGES.runningContinues(left) : MESSAGES.foreignContinues(left);
  const more = { migration: { name, uid }, ...(targetNode === undefined ? {} : { targetNode }) };
  return { message: `${why}; ${continues}`, more };
}

/** Ends an Evacuation. If anything must be cleaned up, the next reconcile reads the Evacuations again and cleans up. */
function end(f: EvacuationCase, next: Next): Next {
  return { ...next, released: leftOf(f, next).length === 0 };
}

/**
 * Returns whether Lifeboat may delete the migration. Returns false for migrations that a person or an external
 * controller created.
 */
function isOwn({ evacuates, name }: MigrationFacts): boolean {
  return evacuates !== undefined || name.startsWith(NAME_PREFIX);
}

/**
 * Returns the actions that clean up: they remove the evacuationNodeName, the label, and migrations that have not
 * started. Running migrations continue, because aborting a migration could do harm. An evacuationNodeName that was set
 * after the move belongs to another Evacuation and is not removed.
 */
function leftOf(
  { e, vmi, migrations }: EvacuationCase,
  end: Pick<EvacuationStatus, "phase" | "reason">,
): readonly Action[] {
  const isGone = end.phase === "Moved" || !isAbout(e, vmi);
  if (marks.isMarked(vmi) && (isGone || end.reason === "MarkWithdrawn")) return [];
  const isLeft = vmi.evacuationNodeName !== undefined || vmi.evacuationLabel !== undefined;
  const unmarked: readonly Action[] = isLeft ? [{ verb: "Unmark", vmi }] : [];
  const waiting = migrations.filter((m) => isOwn(m) && !isFinal(m) && !m.deleting && m.phase !== "Running");
  return isGone
    ? unmarked
    : [...unmarked, ...waiting.map((migration) => ({ verb: "DeleteMigration", migration }) as const)];
}

/**
 * Cleans up after an Evacuation has ended, and records the cleanup in the Evacuation's status. If this process stops
 * before the cleanup, another process cleans up.
 */
export function release(e: EvacuationFacts, w: EvacuationWorld): readonly Action[] {
  const said = (why?: string): Action => {
    return { verb: "WriteStatus", evacuation: e, status: statusReleased(e, w.now, why) };
  };
  const f = world.caseOf(e, w);
  const { virtualMachineInstanceUID: uid = f?.vmi.uid } = e.status;
  if (f === undefined || uid !== f.vmi.uid || isFinal(f.vmi) || f.vmi.deleting) return [said(MESSAGES.vmEnded)];
  const other = isAbout(e, f.vmi) ? undefined : activeEvacuation(f.vmi, ofVmi(w.evacuations, f.vmi));
  if (other !== undefined) return [said(MESSAGES.otherContinues(other.name))];
  const left = leftOf(f, e.status);
  return [...left, said(left.length > 0 ? keptBy(f) : undefined)];
}

function keptBy({ vmi: { evacuationNodeName: name }, w }: EvacuationCase): string | undefined {
  if (name === undefined) return undefined;
  const node = w.facts.get("nodes", named(name));
  if (node === undefined) return MESSAGES.markStaysNodeGone(name);
  return carriesDrainTaint(node, w.settings) ? MESSAGES.markStaysDrainTaint(name, w.settings.drainTaintKey) : undefined;
}
