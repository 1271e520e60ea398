/**
 * Where a migration stands, read off the world: its VMI, its target pod, its own last phase.
 * Owns: the order of the phases, why one fails, what it says of why it waits. Does not own: bringing any of it about.
 */
import { isTrue, type Condition } from "../../actors/conditions.ts";
import type { Pod } from "../../actors/resources.ts";
import { conditionOf, withCondition, withoutCondition } from "../conditions.ts";
import * as kubevirt from "../resources.ts";
import { isActive } from "./world.ts";

export interface MigrationFacts {
  readonly migration: kubevirt.VirtualMachineInstanceMigration;
  readonly vmi: kubevirt.VirtualMachineInstance;
  readonly target: Pod | undefined;
  /** The VMI is in the hands of another migration. */
  readonly isTaken: boolean;
  /** A quota refused the target pod just now. */
  readonly overQuota: boolean;
}

export const OVER_QUOTA = "migrationRejectedByResourceQuota";
const BLOCKED_BY_BACKUP = "migrationBlockedByBackup";

const UNSCHEDULABLE_MS = 5 * 60_000;
const PENDING_MS = 15 * 60_000;

const HANDED_OVER = ["PreparingTarget", "TargetReady", "Running"];

const phaseOf = ({ migration }: MigrationFacts): string => migration.status?.phase ?? "";

/** The VMI's migration state, if it is about this migration. */
export function stateFor({ migration, vmi }: MigrationFacts): kubevirt.MigrationState | undefined {
  const { migrationState } = vmi.status ?? {};
  return migrationState?.migrationUid === migration.metadata.uid ? migrationState : undefined;
}

export function isCancelled({ migration }: MigrationFacts): boolean {
  return migration.metadata.deletionTimestamp !== undefined;
}

/** The first that holds is why it fails. */
const FAILURES: readonly (readonly [message: string, holds: (facts: MigrationFacts) => boolean])[] = [
  ["Migration failed vmi shutdown during migration.", ({ vmi }) => kubevirt.isFinal(vmi.status)],
  ["Migration failed due to being canceled", (facts) => isCancelled(facts) && stateFor(facts) === undefined],
  [
    "Migration failed because target pod shutdown during migration",
    ({ target }) => target !== undefined && !isActive(target),
  ],
  [
    "Migration target pod was removed during active migration.",
    (facts) => facts.target === undefined && !["", "Pending"].includes(phaseOf(facts)),
  ],
  [
    "VMI's migration state was taken over by another migration job during active migration.",
    (facts) => HANDED_OVER.includes(phaseOf(facts)) && stateFor(facts) === undefined,
  ],
  ["source node reported migration failed", (facts) => stateFor(facts)?.failed === true],
  [
    "VMI is not eligible for migration because another migration job is in progress.",
    (facts) => phaseOf(facts) === "" && facts.isTaken,
  ],
];

export function failureOf(facts: MigrationFacts): string | undefined {
  return FAILURES.find(([, holds]) => holds(facts))?.[0];
}

export function nextPhase(facts: MigrationFacts): string {
  return failureOf(facts) === undefined ? onward(phaseOf(facts), facts) : "Failed";
}

/** Once handed over, the VMI's own migration state says how far the handlers are; no phase is left out. */
function onward(phase: string, facts: MigrationFacts): string {
  const { target, vmi } = facts;
  const state = stateFor(facts) ?? {};
  switch (phase) {
    case "":
      return "Pending";
    case "Pending":
      return target === undefined || runningBackup(vmi) !== undefined ? phase : "Scheduling";
    case "Scheduling":
      return isReady(target) ? "Scheduled" : phase;
    case "Scheduled":
      return state.targetNode === undefined ? phase : "PreparingTarget";
    case "PreparingTarget":
      return state.targetNodeAddress === undefined ? phase : "TargetReady";
    case "TargetReady":
      return state.startTimestamp === undefined ? phase : "Running";
    default:
      return state.completed === true ? "Succeeded" : phase;
  }
}

export function conditionsOf(facts: MigrationFacts, now: string): Condition[] {
  const { conditions = [] } = facts.migration.status ?? {};
  if (isCancelled(facts)) return withCondition(conditions, told("migrationAbortRequested", now));
  switch (phaseOf(facts)) {
    case "Pending":
      return whilePending(facts, conditions, now);
    case "Scheduling":
      return withoutCondition(conditions, OVER_QUOTA);
    default:
      return [...conditions];
  }
}

/** A migration that waits for its turn or its back-off says nothing: only a backup and a quota are told. */
function whilePending(facts: MigrationFacts, before: readonly Condition[], now: string): Condition[] {
  const { migration, vmi, target, overQuota } = facts;
  const backup = runningBackup(vmi);
  if (backup === undefined) {
    const conditions = withoutCondition(before, BLOCKED_BY_BACKUP);
    return overQuota && target === undefined ? withCondition(conditions, told(OVER_QUOTA, now)) : conditions;
  }
  const reason = "BackupInProgress";
  const message = isCritical(migration)
    ? `Aborting backup ${backup} for system-critical migration`
    : `Waiting for backup ${backup} to complete`;
  return withCondition(before, { ...told(BLOCKED_BY_BACKUP, now), reason, message });
}

function told(type: string, lastProbeTime: string): Condition {
  return conditionOf({ type, status: "True", lastProbeTime });
}

/** Its name. */
export function runningBackup({ status }: kubevirt.VirtualMachineInstance): string | undefined {
  const { backupName = "", completed = false } = status?.changedBlockTracking?.backupStatus ?? {};
  return backupName === "" || completed ? undefined : backupName;
}

export function isCritical({ spec }: kubevirt.VirtualMachineInstanceMigration): boolean {
  return spec.priority === "system-critical";
}

export function isReady(target: Pod | undefined): boolean {
  return target?.spec?.nodeName !== undefined && isTrue(target.status?.conditions, "Ready");
}

/** How long a target pod may stay Pending; one that nobody can place is given up sooner than one that is slow to start. */
export function patienceWith({ metadata, status }: Pod, now: Date) {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  const unschedulable = scheduled?.status === "False" && scheduled.reason === "Unschedulable";
  const until = Date.parse(metadata.creationTimestamp) + (unschedulable ? UNSCHEDULABLE_MS : PENDING_MS);
  const isWaiting = status?.phase === "Pending" && metadata.deletionTimestamp === undefined;
  return { unschedulable, leftMs: isWaiting ? until - now.getTime() : undefined };
}
