/**
 * The pauses between the attempts of an evacuation: Lifeboat's own, and KubeVirt's.
 *
 * virt-controller replaces a failed migration of a marked VM at once, and begins the new one later: 20 s after the failure, doubled for
 * each further one. Its status says nothing of that, and no setting changes it. Upstream: `handleMigrationBackoff`
 * (pkg/virt-controller/watch/migration/migration.go).
 */
import { backoffSeconds, whyFailed } from "./attempt.ts";
import type { EvacuationFacts, MigrationFacts } from "../facts.ts";
import { isAskedAgain } from "./retry.ts";
import type { Change } from "./status.ts";
import { secondsUntil, withoutFractions } from "../time.ts";
import { inheritedAttempts, type LivePair } from "./world.ts";

export interface KubeVirtBackoff {
  /** The last one that has failed. */
  readonly failed: MigrationFacts;
  /** Milliseconds since the epoch. */
  readonly failedAt: number;
  readonly until: number;
}

const FIRST_MS = 20_000;
const NOT_LOOKED_AT: readonly string[] = ["", "Pending"];

/** Undefined: it is not, or not any more, delayed by that. `migrations`: those of the same VM. */
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
  const until = failed.failedAt + FIRST_MS * 2 ** (failures - 1);
  return until > now.getTime() ? { failed, failedAt: failed.failedAt, until } : undefined;
}

function mayBeDelayed({ phase, targetPod, deleting, automatic, skipsBackoff }: MigrationFacts): boolean {
  const waits = NOT_LOOKED_AT.includes(phase) && targetPod === undefined && !deleting;
  return waits && automatic === true && skipsBackoff !== true;
}

export function delayedByKubeVirt(
  { vmi }: LivePair,
  { name }: MigrationFacts,
  { failed, until }: KubeVirtBackoff,
): Change {
  const nextAttemptTime = new Date(until).toISOString();
  const why = `migration ${failed.name} has failed: ${whyFailed(failed, vmi)}`;
  const message = `${why}; KubeVirt's own back-off delays migration ${name} until ${withoutFractions(nextAttemptTime)}`;
  return { phase: "BackingOff", reason: "KubeVirtBackoff", message, more: { nextAttemptTime } };
}

export function restUntil({ spec, status }: EvacuationFacts): string | undefined {
  return status.nextAttemptTime ?? spec.inherited?.notBefore;
}

/** When Lifeboat's back-off began (milliseconds since the epoch); NaN if there is none. */
export function restingSince({ e, w }: LivePair): number {
  return Date.parse(restUntil(e) ?? "") - backoffSeconds(inheritedAttempts(e), w.settings) * 1000;
}

export function isBackingOff(pair: LivePair): boolean {
  return secondsUntil(restUntil(pair.e), pair.w.now) > 0 && !isAskedAgain(pair, restingSince(pair));
}

/** The status keeps saying what failed. */
export function failedBefore(e: EvacuationFacts): Change {
  const { phase, reason = "", message = "" } = e.status;
  const more = { nextAttemptTime: restUntil(e) };
  const told = phase === "BackingOff" ? { reason, message } : FAILED_BEFORE;
  return { phase: "BackingOff", ...told, more };
}

const FAILED_BEFORE = {
  reason: "MigrationFailed",
  message: "an attempt to move the VM has failed a moment ago",
} as const;
