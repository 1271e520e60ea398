/**
 * Decides the next step of an Evacuation. The first rule that applies returns the phase, reason, message and actions.
 */
import { recordEvent } from "../kube/action.ts";
import { ensureRightBudget } from "../budget/budget.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { MigrationFacts } from "../kube/facts.ts";
import { isAlive, isBeingReceived, isHandlerMissing } from "../kube/objects.ts";
import { secondsSince } from "../settings/time.ts";
import { annotated, withCauses } from "./annotate.ts";
import * as attempts from "./attempts.ts";
import * as ends from "./ends.ts";
import { migrationName } from "./identity.ts";
import * as marks from "./mark.ts";
import { EVACUATION_MESSAGES as MESSAGES } from "./messages.ts";
import { nextOfShutdown } from "./asked.ts";
import { isShutdown } from "./shutdown.ts";
import { hasMigrationStarted, whyNotStarted } from "./not-started.ts";
import { actionsOf } from "./status.ts";
import * as world from "./world.ts";
import type { EvacuationWorld, EvacuationCase, Next, Rule } from "./world.ts";

// prettier-ignore
export const RULES: readonly Rule[] = [
  // These rules end the Evacuation.
  ends.vmiGone, ends.arrived, arriving, ends.duplicate, ends.withdrawn, ends.drainTaintGone, ends.noExecuteTaintGone,
  ends.preemptionOver, ends.exhausted, ends.cannotMigrate,
  // These rules handle the Evacuation's migration.
  noVirtHandler, notThere, migrationFailed, ends.markRemoved, kubevirtBackingOff, migrationStuck, aboutToStart, migrating,
  // These rules handle an Evacuation without a migration.
  waitForController, pinned, backingOff, createMigration, markMissing, waitForKubeVirt,
];

export function nextOf(e: EvacuationFacts, w: EvacuationWorld): Next | "Wait" {
  const found = world.caseOf(e, w);
  if (isShutdown(e)) return nextOfShutdown({ e, f: found, w });
  if (found === undefined) return ends.ended(MESSAGES.noVmi);
  for (const rule of RULES) {
    const next = rule(found);
    if (next !== undefined) return next === "Wait" ? next : withCauses(next, found);
  }
  return "Wait";
}

/** The migration has succeeded, but the VMI does not show the new node yet. */
function arriving(f: EvacuationCase): Next | undefined {
  const migration = attempts.succeeded(f);
  return migration && follow(f, migration);
}

/**
 * virt-handler does not run on the node, so the VM cannot be migrated. Lifeboat waits and does not treat the migration
 * as failed.
 */
function noVirtHandler(f: EvacuationCase): Next | undefined {
  const { e, vmi, w } = f;
  const node = world.isSlow(e, w.now) || world.isOfTaint(e) ? world.nodeOf(vmi, w.facts) : undefined;
  if (node === undefined || !isAlive(node) || !isHandlerMissing(node, w.now)) return undefined;
  return blocked(f, "NoVirtHandler", MESSAGES.noVirtHandler(node.name));
}

/**
 * The VM has no node yet, or is being received from another namespace or cluster, or its migration to another namespace
 * or cluster is blocked. In the last two cases, KubeVirt allows no second migration.
 */
function notThere(f: EvacuationCase): Next | undefined {
  const { vmi, migration } = f;
  if (vmi.nodeName === undefined) return blocked(f, "NotScheduled", MESSAGES.notScheduled);
  if (isBeingReceived(vmi) || migration?.decentralized === "Receives") {
    return blocked(f, "BeingReceived", MESSAGES.beingReceived);
  }
  if (migration?.decentralized === undefined || migration.blockedBy === undefined) return undefined;
  const { type, message = type } = migration.blockedBy;
  return blocked(f, "DecentralizedMigration", MESSAGES.decentralizedBlocked(migration, message));
}

/** A migration has failed. The failure counts as an attempt. */
function migrationFailed(f: EvacuationCase): Next | undefined {
  const { e, vmi, migrations, w } = f;
  const failed = world.isExternal(f) ? [] : attempts.uncountedFailures(e, migrations);
  const last = failed.at(-1);
  if (last === undefined) return undefined;
  const message = attempts.whyFailed(last, vmi);
  const counted = { lastFailedMigration: { name: last.name, uid: last.uid } };
  const next = attempts.attemptFailed(f, { reason: "MigrationFailed", message, failures: failed.length, counted });
  const isUrgent =
    marks.isMarked(vmi) && marks.isMadeUrgent(vmi, world.inheritedAttempts(e) + failed.length, w.settings);
  return isUrgent ? { ...next, after: [...next.after, { verb: "Label", vmi, urgency: "urgent" }] } : next;
}

/** KubeVirt delays the migration because earlier migrations failed. A user's retry ends the delay. */
function kubevirtBackingOff(f: EvacuationCase): Next | undefined {
  const migration = world.attemptOf(f);
  if (migration === undefined) return undefined;
  const delay = attempts.kubevirtBackoff(migration, f.migrations, f.w.now);
  if (delay === undefined) return undefined;
  // A user's retry affects only migrations for evacuations, not workload updates.
  const isHurried = migration.evacuates !== undefined && attempts.isRetried(f.e);
  if (!isHurried) return delayed(f, migration, delay);
  const next = follow(f, migration);
  return { ...next, actions: [{ verb: "SkipBackoff", migration }] };
}

/**
 * Treats a migration that cannot start as a failed attempt. A migration that KubeVirt creates during Lifeboat's
 * back-off is not an attempt.
 */
function migrationStuck(f: EvacuationCase): Next | undefined {
  const migration = world.attemptOf(f);
  if (migration === undefined) return undefined;
  const message = attempts.blockedBecause(migration, f);
  if (migration.deleting ? migration.phase === "Running" : message === undefined) return undefined;
  if (attempts.isBackingOff(f)) return failedBefore(f);
  if (message === undefined || migration.deleting) return undefined;
  if (attempts.isPersons(migration)) {
    // KubeVirt allows no second migration, and Lifeboat does not delete a user's migration.
    return blocked(f, "PersonsMigration", MESSAGES.personsMigrationBlocked(migration, message));
  }
  const actions = [{ verb: "DeleteMigration", migration } as const];
  return { ...attempts.attemptFailed(f, { reason: "MigrationStuck", message }), actions };
}

/**
 * The time in which a new migration should start, in seconds. KubeVirt creates a migration for an evacuation only if
 * its limits on parallel migrations allow the start.
 */
const STARTS_SECONDS = 20;

/** KubeVirt has just created a migration that has not started. Lifeboat annotates it, and the phase stays Pending. */
function aboutToStart(f: EvacuationCase): Next | undefined {
  const { e, migration, w } = f;
  const { phase = "Pending" } = e.status;
  if (migration?.evacuates === undefined || hasMigrationStarted(migration) || phase !== "Pending") return undefined;
  const isYoung = secondsSince(migration.createdAt, w.now) < STARTS_SECONDS;
  if (!isYoung || whyNotStarted(migration, f).reason !== "Queued") return undefined;
  return { ...waitForKubeVirt(), actions: annotated(migration, f) };
}

/** A migration is in progress. */
function migrating(f: EvacuationCase): Next | undefined {
  const { migration } = f;
  if (migration === undefined) return undefined;
  const next = follow(f, migration);
  if (world.attemptOf(f) === undefined || migration.deleting) return next;
  return { ...next, stalled: attempts.isStalled(migration, f) };
}

/**
 * An external controller moves the VM. If KubeVirt's webhook has not marked the VM after some time, the message says
 * that the controller does not know that the VM has to move.
 */
function waitForController(f: EvacuationCase): Next | undefined {
  if (!world.isExternal(f)) return undefined;
  if (!marks.isMarkMissing(f)) {
    const failed = attempts.uncountedFailures(f.e, f.migrations).at(-1);
    const tried = failed && MESSAGES.controllerFailed(failed, attempts.whyFailed(failed, f.vmi));
    const message = `${MESSAGES.waitsForController}${tried ?? ""}`;
    return { phase: "WaitingForExternalController", reason: "External", message };
  }
  if (!attempts.isLeftAlone(f)) return markMissing(f);
  return { ...blocked(f, "NotMarked", MESSAGES.controllerNotAsked), actions: marks.missingMark(f) };
}

/** The VM cannot be migrated, so the Evacuation is blocked. */
function pinned(f: EvacuationCase): Next | undefined {
  const found = ends.pinnedBy(f.vmi);
  return found && blocked(f, found.reason, found.message);
}

/** An attempt has failed, and the time of the next attempt has not come. */
function backingOff(f: EvacuationCase): Next | undefined {
  return attempts.isBackingOff(f) ? failedBefore(f) : undefined;
}

/**
 * Creates a migration if KubeVirt's evacuation controller has not created a migration, or would do so only after a
 * back-off.
 */
function createMigration(f: EvacuationCase): Next | undefined {
  const { e, vmi, w } = f;
  if (!attempts.isRetried(e) && !attempts.isLeftAlone(f)) return undefined;
  const attempt = world.inheritedAttempts(e) + 1;
  const name = migrationName(e, attempt);
  const refused = attempts.attemptFailed(f, { reason: "MigrationRefused", message: MESSAGES.refused });
  const { maxAttempts } = w.settings.evacuation;
  const message = MESSAGES.attemptStarts(name, vmi.nodeName, attempt, maxAttempts);
  return {
    ...pending(MESSAGES.migrationCreated(name)),
    actions: [
      ...ensureRightBudget(vmi, w),
      ...marks.missingMark(f),
      { verb: "CreateMigration", vmi, name, evacuation: e, ifRefused: actionsOf(f, refused) },
    ],
    after: [recordEvent(vmi, "MigrationCreated", message, name)],
  };
}

/** The VMI has no evacuationNodeName. Lifeboat sets the field. */
function markMissing(f: EvacuationCase): Next | undefined {
  const next = pending(MESSAGES.webhookMarks);
  return marks.isMarkMissing(f) ? { ...next, actions: marks.missingMark(f) } : undefined;
}

/** KubeVirt's evacuation controller will create a migration. */
function waitForKubeVirt(): Next {
  return pending(MESSAGES.controllerMigrates);
}

function pending(message: string): Next {
  return { phase: "Pending", reason: "Pending", message };
}

function blocked({ e, vmi }: EvacuationCase, reason: string, message: string): Next {
  const event = MESSAGES.cannotLeave(vmi.nodeName, message);
  return { phase: "Blocked", reason, message, after: [recordEvent(vmi, "NotMigratable", event, `${e.uid}-${reason}`)] };
}

function failedBefore({ e }: EvacuationCase): Next {
  const { phase, reason = "", message = "" } = e.status;
  const why =
    phase === "BackingOff" ? { reason, message } : { reason: "MigrationFailed", message: MESSAGES.anAttemptFailed };
  return { phase: "BackingOff", ...why, more: { nextAttemptTime: attempts.backoffUntil(e) } };
}

function delayed({ vmi }: EvacuationCase, m: MigrationFacts, { failed, until }: attempts.KubeVirtBackoff): Next {
  const nextAttemptTime = new Date(until).toISOString();
  const message = MESSAGES.kubevirtBacksOff(failed, attempts.whyFailed(failed, vmi), m, nextAttemptTime);
  return { phase: "BackingOff", reason: "KubeVirtBackoff", message, more: { nextAttemptTime } };
}

function follow(f: EvacuationCase, migration: MigrationFacts) {
  const { name, uid, targetNode } = migration;
  return {
    phase: "Migrating",
    ...progressOf(migration, f),
    more: { migration: { name, uid }, ...(targetNode === undefined ? {} : { targetNode }) },
  } as const satisfies Next;
}

function progressOf(migration: MigrationFacts, f: EvacuationCase): Pick<Next, "reason" | "message"> {
  const { phase, targetNode } = migration;
  if (phase === "Synchronizing") return { reason: "Synchronizing", message: MESSAGES.synchronizing(migration) };
  if (phase === "Succeeded") return { reason: "Succeeded", message: MESSAGES.hasMoved(migration) };
  if (phase === "Running") return { reason: "Running", message: MESSAGES.moving(migration) };
  if (!hasMigrationStarted(migration)) {
    const { reason, message } = whyNotStarted(migration, f);
    return { reason, message };
  }
  return { reason: "Preparing", message: MESSAGES.preparing(migration, targetNode) };
}
