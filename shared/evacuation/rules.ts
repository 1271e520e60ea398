/** What comes next for an Evacuation: the first rule that applies says phase, reason, message and actions. */
import { recordEvent } from "../kube/action.ts";
import * as attempts from "./attempts.ts";
import { ensureRightBudget } from "../budget/budget.ts";
import { isMarked, resolveStrategy } from "../settings/strategy.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { activeEvacuation, migrationName, ofVmi, podUIDOf } from "./identity.ts";
import * as marks from "./mark.ts";
import * as outcomes from "./outcomes.ts";
import { isShutdown, nextOfShutdown } from "./shutdown.ts";
import { blocked, ended, failedBefore, follow, giveUp, moved, pending, withdraw } from "./outcomes.ts";
import { actionsOf } from "./status.ts";
import * as world from "./world.ts";
import type { EvacuationWorld, Facts, Next, Rule } from "./world.ts";
import { carriesDrainTaint, drivingTaint, isAlive, isBeingReceived, isFinal } from "../kube/objects.ts";

// prettier-ignore
export const RULES: readonly Rule[] = [
  // It ends
  vmiGone, arrived, duplicate, withdrawn, drainTaintGone, noExecuteTaintGone, preemptionOver, exhausted, cannotMigrate,
  // What a migration shows
  notThere, migrationFailed, markRemoved, kubevirtBackingOff, migrationStuck, migrating,
  // There is none
  markNotRead, waitForController, pinned, backingOff, createMigration, markMissing, waitForKubeVirt,
];

export function nextOf(e: EvacuationFacts, w: EvacuationWorld): Next | "StaleRead" {
  const facts = world.factsOf(e, w);
  if (isShutdown(e)) return nextOfShutdown(e, facts, w);
  if (facts === undefined) return ended("there is no VirtualMachineInstance of this name");
  for (const rule of RULES) {
    const next = rule(facts);
    if (next !== undefined) return next;
  }
  return "StaleRead";
}

function vmiGone(f: Facts): Next | undefined {
  const { e, vmi } = f;
  if ((e.status.virtualMachineInstanceUID ?? vmi.uid) !== vmi.uid) {
    return ended("the VirtualMachineInstance has been deleted and made anew");
  }
  if (!vmi.deleting && !isFinal(vmi)) return undefined;
  // The VMI that has sent its guest away ends like any other.
  return attempts.succeeded(f)?.decentralized === "Sends" ? moved(f, undefined) : ended("the VM has ended");
}

function arrived(f: Facts): Next | undefined {
  const migration = attempts.succeeded(f);
  if (migration === undefined) return world.isElsewhere(f) ? moved(f, f.vmi.nodeName) : undefined;
  if (migration.decentralized !== undefined || world.isShownLater(f, migration)) return follow(f, migration);
  return moved(f, migration.targetNode ?? f.vmi.nodeName);
}

function duplicate({ e, vmi, w }: Facts): Next | undefined {
  const first = activeEvacuation(vmi, ofVmi(w.evacuations, vmi), podUIDOf(e));
  if (first === undefined || first.uid === e.uid) return undefined;
  return { phase: "Duplicate", reason: "Duplicate", message: `Evacuation ${first.name} of the same pod continues` };
}

function withdrawn(f: Facts): Next | undefined {
  return f.e.spec.intent === "Withdrawn" ? withdraw(f, "Intent", "spec.intent is Withdrawn") : undefined;
}

function drainTaintGone(f: Facts): Next | undefined {
  const node = f.e.spec.cause === "DrainTaint" ? world.nodeOf(f) : undefined;
  if (node === undefined || world.isWantedBesides(f)) return undefined;
  const isDriven = isMarked(f.vmi) || carriesDrainTaint(node, f.w.settings);
  return isDriven ? undefined : withdraw(f, "Taint", `node ${node.name} does not carry the drain taint any more`);
}

function noExecuteTaintGone(f: Facts): Next | "StaleRead" | undefined {
  const [node, pod] = f.e.spec.cause === "NoExecuteTaint" ? [world.nodeOf(f), world.podOf(f)] : [];
  if (node === undefined || pod === undefined || world.isWantedBesides(f)) return undefined;
  if (!isAlive(node) || drivingTaint(node, pod) !== undefined) return undefined;
  return marks.isMarkOnItsWay(f)
    ? "StaleRead"
    : withdraw(f, "Taint", `the NoExecute taint of node ${node.name} is gone`);
}

/** A new round of the scheduler has found other victims. A migration that runs does no harm. */
function preemptionOver(f: Facts): Next | undefined {
  const pod = world.podOf(f);
  const runs = f.migrations.some(({ phase }) => phase === "Running");
  if (!world.isPreemptionOverdue(f.e, f.w.now) || world.isWantedBesides(f) || runs) return undefined;
  if (pod === undefined || pod.deleting) return undefined;
  return withdraw(f, "Preemption", `no scheduler deletes pod ${pod.name} any more`);
}

/** Every attempt has failed. Attempts that were inherited do not count: it has at least one of its own. */
function exhausted(f: Facts): Next | undefined {
  const { spec, status } = f.e;
  const { attempts: failed, message = "", reason = "MigrationFailed" } = status;
  if (failed <= (spec.inherited?.attempts ?? 0) || failed < f.w.settings.evacuation.maxAttempts) return undefined;
  const why = `${failed} attempts have failed; the last one: ${message}`;
  return giveUp(f, reason, why, attempts.backoffSeconds(failed, f.w.settings));
}

function cannotMigrate(f: Facts): Next | undefined {
  const { e, vmi, migration, w } = f;
  const resolved = resolveStrategy(vmi, w.settings);
  if (!resolved.known) {
    const value = resolved.value.slice(0, 64);
    return giveUp(f, "UnknownStrategy", `${resolved.field} is "${value}": KubeVirt knows no such strategy`);
  }
  if (resolved.strategy === "None") {
    return giveUp(f, "StrategyNone", "its eviction strategy is None: KubeVirt does not migrate it");
  }
  const isByHand = e.spec.cause === "Operator" && !isMarked(vmi) && migration === undefined;
  const found = isByHand && !world.isExternal(f) ? pinned(f) : undefined;
  return found && giveUp(f, found.reason, found.message);
}

/** On its way to another namespace or cluster it is waited for: a person has sent it, and KubeVirt allows no migration beside that one. */
function notThere(f: Facts): Next | undefined {
  const { vmi, migration } = f;
  if (vmi.nodeName === undefined) return blocked(f, "NotScheduled", "the VM is not on a node yet");
  if (isBeingReceived(vmi) || migration?.decentralized === "Receives") {
    return blocked(f, "BeingReceived", "the VM is being received from another namespace or cluster");
  }
  if (migration?.decentralized === undefined || migration.blockedBy === undefined) return undefined;
  const { type, message = type } = migration.blockedBy;
  const why = `migration ${migration.name} to another namespace or cluster cannot continue: ${message}`;
  return blocked(f, "DecentralizedMigration", why);
}

function migrationFailed(f: Facts): Next | undefined {
  const { e, vmi, migrations, w } = f;
  const failed = world.isExternal(f) ? [] : attempts.uncountedFailures(e, migrations);
  const last = failed.at(-1);
  if (last === undefined) return undefined;
  const message = attempts.whyFailed(last, vmi);
  const counted = { lastFailedMigration: { name: last.name, uid: last.uid } };
  const next = outcomes.attemptFailed(f, { reason: "MigrationFailed", message, failures: failed.length, counted });
  const isUrgent = isMarked(vmi) && marks.isMadeUrgent(vmi, world.inheritedAttempts(e) + failed.length, w.settings);
  return isUrgent ? { ...next, after: [...next.after, { verb: "Label", vmi, urgency: "urgent" }] } : next;
}

function markRemoved(f: Facts): Next | undefined {
  return marks.isTakenBack(f) && f.migration?.phase !== "Running"
    ? withdraw(f, "Mark", "the mark was removed")
    : undefined;
}

function kubevirtBackingOff(f: Facts): Next | undefined {
  const migration = world.attemptOf(f);
  if (migration === undefined) return undefined;
  const delay = attempts.kubevirtBackoff(migration, f.migrations, f.w.now);
  if (delay === undefined) return undefined;
  // Only what KubeVirt has made for an evacuation is hurried when a person asks: a workload update is its own.
  const isHurried = migration.evacuates !== undefined && attempts.isRetried(f.e);
  if (!isHurried) return outcomes.delayed(f, migration, delay);
  const next = follow(f, migration);
  return { ...next, actions: [{ verb: "SkipBackoff", migration }] };
}

/** An unfinished migration cannot begin, which is as good as failed. One that KubeVirt creates during a back-off is no new attempt. */
function migrationStuck(f: Facts): Next | undefined {
  const migration = world.attemptOf(f);
  if (migration === undefined) return undefined;
  const message = attempts.blockedBecause(migration, f);
  // One that was deleted because it was stuck is gone in a moment.
  if (migration.deleting ? migration.phase === "Running" : message === undefined) return undefined;
  if (attempts.isBackingOff(f)) return failedBefore(f);
  if (message === undefined || migration.deleting) return undefined;
  if (attempts.isPersons(migration)) {
    // KubeVirt allows no other one beside it, and it is not ours to delete.
    const why = `migration ${migration.name}, which a person created, cannot start: ${message}`;
    return blocked(f, "PersonsMigration", why);
  }
  const actions = [{ verb: "DeleteMigration", migration } as const];
  return { ...outcomes.attemptFailed(f, { reason: "MigrationStuck", message }), actions };
}

function migrating(f: Facts): Next | undefined {
  const { migration } = f;
  if (migration === undefined) return undefined;
  const next = follow(f, migration);
  if (world.attemptOf(f) === undefined || migration.deleting) return next;
  const unplaced = migration.phase === "Scheduling" ? attempts.unplacedBecause(migration, f) : undefined;
  const room = unplaced && { reason: "NoRoom", message: unplaced.why };
  return { ...next, ...room, stalled: attempts.isStalled(migration, f) };
}

function markNotRead(f: Facts): "StaleRead" | undefined {
  return marks.isMarkMissing(f) && marks.wasMarkSeen(f) ? "StaleRead" : undefined;
}

/** Where KubeVirt's eviction webhook is switched off, Lifeboat can only say that the external controller does not learn of it. */
function waitForController(f: Facts): Next | undefined {
  if (!world.isExternal(f)) return undefined;
  if (!marks.isMarkMissing(f)) {
    const failed = attempts.uncountedFailures(f.e, f.migrations).at(-1);
    const tried = failed && `; migration ${failed.name} has failed: ${attempts.whyFailed(failed, f.vmi)}`;
    return {
      phase: "WaitingForExternalController",
      reason: "External",
      message: `${marks.WAITS_FOR_CONTROLLER}${tried ?? ""}`,
    };
  }
  if (!attempts.isLeftAlone(f)) return markMissing(f);
  const why =
    "KubeVirt's eviction webhook has not marked the VM, so that its external controller does not learn that it has to move";
  return { ...blocked(f, "NotMarked", why), actions: marks.missingMark(f) };
}

function pinned(f: Facts): Next | undefined {
  const { migratable, reason = "", message = "KubeVirt gives no reason" } = f.vmi.liveMigratable;
  if (migratable) return undefined;
  // As the CRD's schema allows.
  const isWord = /^[A-Za-z][A-Za-z0-9]{0,255}$/.test(reason);
  return blocked(f, isWord ? reason : "NotLiveMigratable", `the VM is not live-migratable: ${message}`);
}

function backingOff(f: Facts): Next | undefined {
  return attempts.isBackingOff(f) ? failedBefore(f) : undefined;
}

/** KubeVirt's evacuation controller has not acted, or its own migration would wait for its own back-off. */
function createMigration(f: Facts): Next | undefined {
  const { e, vmi, w } = f;
  if (!attempts.isRetried(e) && !attempts.isLeftAlone(f)) return undefined;
  const attempt = world.inheritedAttempts(e) + 1;
  const name = migrationName(e, attempt);
  const why = "the migration was refused when it was created";
  const refused = outcomes.attemptFailed(f, { reason: "MigrationRefused", message: why });
  const { maxAttempts } = w.settings.evacuation;
  const message = `migration ${name} moves the VM off node ${vmi.nodeName} (attempt ${attempt} of ${maxAttempts})`;
  return {
    ...pending(`migration ${name} has been created`),
    actions: [
      ...ensureRightBudget(vmi, w),
      ...marks.missingMark(f),
      { verb: "CreateMigration", vmi, name, evacuation: e, ifRefused: actionsOf(f, refused) },
    ],
    after: [recordEvent(vmi, "MigrationCreated", message, name)],
  };
}

function markMissing(f: Facts): Next | undefined {
  const next = pending("KubeVirt's eviction webhook marks the VM");
  return marks.isMarkMissing(f) ? { ...next, actions: marks.missingMark(f) } : undefined;
}

function waitForKubeVirt(): Next {
  return pending("KubeVirt's evacuation controller migrates the VM");
}
