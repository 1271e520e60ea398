/**
 * Attempts of an evacuation: which migrations have failed, which cannot begin, how long to back off. Upstream: KubeVirt's migration
 * controller (pkg/virt-controller/watch/migration/migration.go).
 */
import {
  type EvacuationFacts,
  type EvacuationStatus,
  isFinal,
  type MigrationFacts,
  type PodFacts,
  type VmiFacts,
} from "../facts.ts";
import { isListedBy } from "../kube/pod-kind.ts";
import { OVER_QUOTA } from "../names.ts";
import type { Settings } from "../settings.ts";
import { type Moment, secondsSince } from "../time.ts";

/** Far beyond any maximum: 0 s times infinity is no time at all. */
const MOST_DOUBLINGS = 32;

/** Doubled for each failure after the first; never less than the first step. */
function doubled(first: number, failures: number, most: number): number {
  return Math.min(first * 2 ** Math.min(Math.max(failures - 1, 0), MOST_DOUBLINGS), most);
}

/** Seconds of back-off after so many failures: 20, 40, 80 … up to the maximum. */
export function backoffSeconds(failures: number, { evacuation }: Settings): number {
  return doubled(evacuation.backoffSeconds, failures, evacuation.maxBackoffSeconds);
}

/** Whether it is one of this evacuation's: created since, or the one that its status names. Both times are the API server's. */
function isOf(migration: MigrationFacts, { createdAt, status }: EvacuationFacts): boolean {
  return migration.uid === status.migration?.uid || migration.createdAt >= createdAt;
}

/**
 * Its migrations that have failed and are not counted yet, oldest first. One that is being deleted does not count: it was
 * counted when it was deleted, or a person who deletes it did not want it. Those of the same second are counted together, once
 * none of them goes on.
 */
export function uncountedFailures(
  e: EvacuationFacts,
  migrations: readonly MigrationFacts[],
): readonly MigrationFacts[] {
  const present = migrations.filter((m) => !m.deleting);
  const unfinished = new Set(present.filter((m) => !isFinal(m)).map((m) => m.createdAt));
  const own = present.filter((m) => m.phase === "Failed" && isAttempt(m, e) && !unfinished.has(m.createdAt));
  const rank = (m: MigrationFacts) => rankOf(m, e.status);
  const failed = own.toSorted((a, b) => a.createdAt - b.createdAt || rank(a) - rank(b) || (a.uid < b.uid ? -1 : 1));
  return failed.slice(1 + failed.findIndex((m) => m.uid === e.status.lastFailedMigration?.uid));
}

/** One to another namespace or cluster is tried again by the person who began it, or not at all. */
function isAttempt(migration: MigrationFacts, e: EvacuationFacts): boolean {
  return migration.decentralized === undefined && isOf(migration, e);
}

/** Within a second: those that were counted with the last one, that one, and one that has begun since. */
function rankOf({ uid }: MigrationFacts, { lastFailedMigration, migration }: EvacuationStatus): number {
  if (uid === lastFailedMigration?.uid) return 1;
  return uid === migration?.uid ? 2 : 0;
}

/** One of its migrations that has succeeded: the VM has moved, though the VMI may not show it yet, or have come back since. */
export function succeeded(e: EvacuationFacts, migrations: readonly MigrationFacts[]): MigrationFacts | undefined {
  return migrations.find((m) => m.phase === "Succeeded" && m.decentralized !== "Receives" && isOf(m, e));
}

/** KubeVirt writes the reason on the VMI, and copies it to the migration some moments after that has failed. */
export function whyFailed({ uid, failureReason }: MigrationFacts, { failure }: VmiFacts): string {
  const told = failure?.migrationUID === uid ? failure.reason : undefined;
  return failureReason ?? told ?? "KubeVirt gives no reason";
}

/** What runs, as KubeVirt counts: migrations with a target pod. */
export interface MigrationQueue {
  readonly running: number;
  /** Of these, leaving the node in question. */
  readonly leaving: number;
}

export interface QueueFacts extends Moment {
  /** Absent: not read, or not to be learnt. Then the migration counts as queued. */
  readonly queue?: MigrationQueue | undefined;
  /** Since when every look has found it stalled (RFC 3339). */
  readonly stalledSince?: string | undefined;
  readonly attempts: number;
}

export interface BlockedFacts extends QueueFacts {
  readonly vmi: VmiFacts;
  /** Launcher pods of the VMI, the target pod among them. */
  readonly launchers: readonly PodFacts[];
}

/** Phases in which a migration has no target pod that runs. */
const NOT_BEGUN: readonly string[] = ["", "Pending", "Scheduling"];

/**
 * Why an unfinished migration cannot begin, in KubeVirt's or the scheduler's words; undefined if it can, or is merely queued.
 * KubeVirt holds a migration without any condition until fewer than both limits run, and through its own back-off.
 */
export function blockedBecause(migration: MigrationFacts, f: BlockedFacts): string | undefined {
  if (isFinal(migration) || !NOT_BEGUN.includes(migration.phase)) return undefined;
  const { blockedBy } = migration;
  if (blockedBy !== undefined) return conditionBecause(migration, blockedBy, f);
  const { stuckSeconds } = f.settings.evacuation;
  const unplaced = unplacedBecause(migration, f);
  if (unplaced !== undefined) return secondsSince(unplaced.since, f.now) >= stuckSeconds ? unplaced.why : undefined;
  if (isStalled(migration, f) !== true || !(secondsSince(f.stalledSince, f.now) >= stuckSeconds)) return undefined;
  return `KubeVirt has not begun it for ${stuckSeconds} s, although its limits are not reached`;
}

/**
 * That the scheduler finds no node for the target pod, and since when. An autoscaler, or a VM that ends, may still make room. A pod
 * that does not say since when has waited no longer than its migration.
 */
export function unplacedBecause(
  { createdAt }: MigrationFacts,
  { vmi, launchers }: Pick<BlockedFacts, "vmi" | "launchers">,
): { readonly why: string; readonly since: number } | undefined {
  for (const pod of launchers) {
    const { unschedulable, name } = pod;
    if (unschedulable === undefined || pod.deleting || !isListedBy(vmi, pod)) continue;
    const why = `target pod ${name} cannot be scheduled: ${unschedulable.message}`;
    return { why, since: Date.parse(unschedulable.since) || createdAt };
  }
  return undefined;
}

/**
 * Whether it is not begun although KubeVirt's limits would allow it; undefined if the queue was not read. A place is free for some
 * seconds whenever another migration ends, so that one look proves nothing.
 */
export function isStalled(migration: MigrationFacts, f: QueueFacts): boolean | undefined {
  if (!mayBeStuck(migration, f)) return false;
  return f.queue === undefined ? undefined : !isQueueFull(f.queue, f.settings);
}

type Blocking = NonNullable<MigrationFacts["blockedBy"]>;

/** KubeVirt aborts a backup for migrations of its own, and gives utility volumes time to be detached. */
function conditionBecause(m: MigrationFacts, { type, reason, message }: Blocking, f: BlockedFacts): string | undefined {
  if (type === OVER_QUOTA) return `a resource quota refuses the target pod (${OVER_QUOTA})`;
  return mayBeStuck(m, f) ? (message ?? reason ?? type) : undefined;
}

/** Whether it is so old that the queue has to be looked at: KubeVirt itself backs off for 20 s, doubled up to 320 s. */
export function mayBeStuck(m: MigrationFacts, { attempts, settings, now }: QueueFacts): boolean {
  if (m.targetPod !== undefined || m.phase === "Scheduling") return false;
  const kubevirtBackoff = attempts === 0 ? 0 : doubled(20, attempts, 320);
  return secondsSince(m.createdAt, now) >= settings.evacuation.stuckSeconds + kubevirtBackoff;
}

function isQueueFull({ running, leaving }: MigrationQueue, { limits }: Settings): boolean {
  return running >= limits.parallelMigrationsPerCluster || leaving >= limits.parallelOutboundMigrationsPerNode;
}
