/**
 * Counts the failed migrations of an evacuation, and computes the back-off between attempts. Upstream: KubeVirt's
 * migration.go.
 */
import { recordEvent } from "../kube/action.ts";
import type { MigrationFacts, VmiFacts } from "../kube/facts.ts";
import {
  type EvacuationFacts,
  type EvacuationStatus,
  isActive,
  isToBeReleased,
  type Phase,
} from "../kube/evacuation.ts";
import { NAME_PREFIX } from "../kube/names.ts";
import type { Settings } from "../settings/settings.ts";
import { isMarked } from "./mark.ts";
import { EVACUATION_MESSAGES as MESSAGES } from "./messages.ts";
import { type Moment, secondsAfter, secondsSince, secondsUntil } from "../settings/time.ts";
import { sourceNodeOf } from "./identity.ts";
import { type EvacuationCase, inheritedAttempts, type Next } from "./world.ts";
import { isFinal } from "../kube/objects.ts";
import { doubled, hasPlace, isOverdueInQueue, KUBEVIRT_SECONDS } from "./queue.ts";
import { hasMigrationStarted, type NotStarted, whyNotStarted } from "./not-started.ts";

export function backoffSeconds(failures: number, { evacuation }: Settings): number {
  return doubled(evacuation.backoffSeconds, failures, evacuation.maxBackoffSeconds);
}

interface Failure {
  /** `MigrationRefused`: KubeVirt's webhook or another admission plugin refuses the migration permanently. */
  readonly reason: "MigrationFailed" | "MigrationStuck" | "MigrationRefused";
  readonly message: string;
  readonly failures?: number;
  /**
   * The last failed migration. The status records this migration, so that Lifeboat counts it only once. Undefined if
   * the migration was refused, or if Lifeboat deletes a migration that cannot start.
   */
  readonly counted?: Pick<EvacuationStatus, "lastFailedMigration">;
}

/**
 * Counts the failure, and plans the next attempt after a back-off. The back-off doubles with each failed attempt, up to
 * a maximum.
 */
export function attemptFailed({ e, vmi, w }: EvacuationCase, failure: Failure) {
  const { reason, message, failures = 1, counted } = failure;
  const event = reason === "MigrationStuck" ? "MigrationFailed" : reason;
  const attempts = inheritedAttempts(e) + failures;
  const nextAttemptTime = secondsAfter(w.now, backoffSeconds(attempts, w.settings));
  const { maxAttempts } = w.settings.evacuation;
  const text = MESSAGES.attemptFailed(vmi.nodeName, attempts, maxAttempts, message);
  return {
    phase: "BackingOff",
    reason,
    message,
    more: { ...counted, attempts, nextAttemptTime },
    stalled: false,
    after: [recordEvent(vmi, event, text, `${e.uid}-${attempts}`)],
  } as const satisfies Next;
}

/**
 * Returns whether the migration belongs to this evacuation: the status contains the migration, or the migration is not
 * older than the Evacuation. The API server sets both creation times, so they can be compared.
 */
export function isOf(migration: MigrationFacts, { createdAt, status }: EvacuationFacts): boolean {
  return migration.uid === status.migration?.uid || migration.createdAt >= createdAt;
}

/**
 * Returns the failed migrations that are not counted yet, oldest first. If several migrations were created in the same
 * second, returns none of their failures until all of them have ended. Ignores migrations that are being deleted. If
 * the last counted migration is missing or ignored, returns only the newest failure.
 */
export function uncountedFailures(
  e: EvacuationFacts,
  migrations: readonly MigrationFacts[],
): readonly MigrationFacts[] {
  const present = migrations.filter((m) => !m.deleting);
  const unfinished = new Set(present.filter((m) => !isFinal(m)).map((m) => m.createdAt));
  const isFailure = (m: MigrationFacts) => m.phase === "Failed" && m.decentralized === undefined && isOf(m, e);
  const own = present.filter((m) => isFailure(m) && !unfinished.has(m.createdAt));
  const rank = (m: MigrationFacts) => rankOf(m, e.status);
  const failed = own.toSorted((a, b) => a.createdAt - b.createdAt || rank(a) - rank(b) || (a.uid < b.uid ? -1 : 1));
  const { lastFailedMigration: last } = e.status;
  const at = failed.findIndex((m) => m.uid === last?.uid);
  return last !== undefined && at < 0 ? failed.slice(-1) : failed.slice(at + 1);
}

/**
 * Returns a number that sorts failed migrations with the same creation time. `status.migration` gets the highest
 * number, so it counts as the newest.
 */
function rankOf({ uid }: MigrationFacts, { lastFailedMigration, migration }: EvacuationStatus): number {
  if (uid === lastFailedMigration?.uid) return 1;
  return uid === migration?.uid ? 2 : 0;
}

/**
 * Returns a successful migration of this evacuation, even if the VMI does not show it yet or the VM has come back to
 * its former node. Ignores migrations that started on another node.
 */
export function succeeded({ e, vmi, migrations }: EvacuationCase): MigrationFacts | undefined {
  const from = e.status.sourceNode ?? sourceNodeOf(e, vmi);
  const isFromThere = ({ sourceNode = from }: MigrationFacts) => from === undefined || sourceNode === from;
  const done = migrations.filter((m) => m.phase === "Succeeded" && m.decentralized !== "Receives");
  return done.find((m) => isOf(m, e) && isFromThere(m));
}

/** Returns whether a person or an external controller created the migration, not KubeVirt or Lifeboat. */
export function isPersons({ evacuates, automatic, name }: MigrationFacts): boolean {
  return evacuates === undefined && automatic !== true && !name.startsWith(NAME_PREFIX);
}

/** Returns why a migration failed. KubeVirt writes the reason into the VMI first, and later into the migration. */
export function whyFailed({ uid, failureReason }: MigrationFacts, { lastMigration: last }: VmiFacts): string {
  return failureReason ?? (last?.uid === uid ? last.failureReason : undefined) ?? MESSAGES.noReason;
}

/**
 * Returns why a migration that cannot start is treated as failed. Returns undefined if the migration has started or
 * ended, or can still start.
 */
export function blockedBecause(migration: MigrationFacts, f: EvacuationCase): string | undefined {
  if (isFinal(migration) || hasMigrationStarted(migration)) return undefined;
  const why = whyNotStarted(migration, f);
  if (why.since !== undefined) return targetBecause(why, f);
  if (migration.blockedBy !== undefined) return isOverdueInQueue(migration, f) ? why.message : undefined;
  const isStuck = isStalled(migration, f) && isLong(stalledSince(migration, f), f);
  if (!isStuck) return undefined;
  const { stuckSeconds } = f.w.settings.evacuation;
  return why.reason === "Queued" ? MESSAGES.stuck(stuckSeconds) : why.message;
}

/** Returns why an existing target pod has not started. Returns undefined until the pod has waited `stuckSeconds`. */
function targetBecause({ reason, message, since }: NotStarted, f: EvacuationCase): string | undefined {
  if (!isLong(since, f)) return undefined;
  const { stuckSeconds } = f.w.settings.evacuation;
  return reason === "TargetStarting" ? MESSAGES.targetTooSlow(message, stuckSeconds) : message;
}

function isLong(since: number | string | undefined, { w }: EvacuationCase): boolean {
  return secondsSince(since, w.now) >= w.settings.evacuation.stuckSeconds;
}

/**
 * Returns whether the migration has not started although KubeVirt's limits on parallel migrations allow it. A caller
 * acts only if the result stays true for some time.
 */
export function isStalled(migration: MigrationFacts, f: EvacuationCase): boolean {
  return !hasMigrationStarted(migration) && isOverdueInQueue(migration, f) && hasPlace(f);
}

function stalledSince({ uid }: MigrationFacts, { e: { status } }: EvacuationCase): string | undefined {
  const condition = status.conditions.find((one) => one.type === "Stalled" && one.status === "True");
  return uid === status.migration?.uid ? condition?.lastTransitionTime : undefined;
}

export interface KubeVirtBackoff {
  readonly failed: MigrationFacts;
  readonly until: number;
}

/**
 * Returns KubeVirt's back-off. KubeVirt creates a new migration immediately after a failure, but starts the migration
 * at least 20 s later. This delay doubles with each further failure. Upstream: `handleMigrationBackoff`.
 */
export function kubevirtBackoff(
  migration: MigrationFacts,
  migrations: readonly MigrationFacts[],
  now: Date,
): KubeVirtBackoff | undefined {
  if (!mayBeDelayed(migration)) return undefined;
  const before = migrations
    .filter((m) => m.automatic === true && m.uid !== migration.uid)
    .toSorted((a, b) => b.createdAt - a.createdAt || (b.failedAt ?? 0) - (a.failedAt ?? 0));
  const success = before.findIndex(({ phase }) => phase === "Succeeded");
  const sinceSuccess = success < 0 ? before : before.slice(0, success);
  const failures = sinceSuccess.filter(({ phase, deleting }) => phase === "Failed" && !deleting).length;
  const [failed] = before;
  if (failed?.failedAt === undefined || failures === 0) return undefined;
  const until = failed.failedAt + KUBEVIRT_SECONDS * 1000 * 2 ** (failures - 1);
  return until > now.getTime() ? { failed, until } : undefined;
}

function mayBeDelayed({ phase, targetPod, deleting, automatic, skipsBackoff }: MigrationFacts): boolean {
  const waits = (phase === "" || phase === "Pending") && targetPod === undefined && !deleting;
  return waits && automatic === true && skipsBackoff !== true;
}

export function backoffUntil({ spec, status }: EvacuationFacts): string | undefined {
  return status.nextAttemptTime ?? spec.inherited?.notBefore;
}

export function isBackingOff(f: EvacuationCase): boolean {
  return secondsUntil(backoffUntil(f.e), f.w.now) > 0 && !isRetried(f.e);
}

/**
 * Returns whether a person has ended the back-off (`spec.retryAt`) and the status does not record this yet. Does not
 * compare `retryAt` with the current time, because clocks differ.
 */
export function isRetried({ spec, status }: EvacuationFacts): boolean {
  return spec.retryAt !== undefined && spec.retryAt !== status.observedRetryAt;
}

export function isLeftAlone({ e, w }: EvacuationCase): boolean {
  const since = Math.max(e.createdAt, Date.parse(backoffUntil(e) ?? "") || 0);
  // The API server's clock can be ahead of this process's clock. The difference is then negative.
  return Math.max(0, secondsSince(since, w.now)) >= w.settings.evacuation.adoptSeconds;
}

/**
 * Returns whether a reconcile can change something: a person asked for a change, the VMI changed, or a waiting time has
 * passed.
 */
export function isDue(e: EvacuationFacts, vmi: VmiFacts, moment: Moment): boolean {
  if (!isActive(e)) return isToBeReleased(e);
  const { phase, sourceNode, conditions } = e.status;
  const isAsked = e.spec.intent === "Withdrawn" || isRetried(e);
  const isMarkSeen = conditions.some(({ type }) => type === "Marked");
  if (isAsked || vmi.nodeName !== sourceNode || isMarked(vmi) !== isMarkSeen) return true;
  return isFinal(vmi) || vmi.deleting || (phase && DUE[phase])?.(e, vmi, moment) !== false;
}

const DUE: { readonly [P in Phase]?: typeof isDue } = {
  Pending: ({ createdAt }, vmi, { settings, now }) =>
    vmi.isMigrating || secondsSince(createdAt, now) >= settings.evacuation.adoptSeconds,
  Migrating: ({ status }, vmi) => vmi.isMigrating === (status.reason === "Queued"),
  BackingOff: ({ status }, _, { now }) => Date.parse(status.nextAttemptTime ?? "") <= now.getTime(),
  Blocked: (_, { liveMigratable }) => liveMigratable.migratable,
};
