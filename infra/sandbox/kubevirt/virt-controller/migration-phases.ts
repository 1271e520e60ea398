/** Computes the phase and the conditions of a migration. */
import { findCondition, isTrue, type Condition } from "../../actors/conditions.ts";
import type { Pod } from "../../actors/resources.ts";
import { conditionOf, withCondition, withoutCondition } from "../conditions.ts";
import * as kubevirt from "../resources.ts";
import { isActive } from "./world.ts";

export interface MigrationFacts {
  readonly migration: kubevirt.VirtualMachineInstanceMigration;
  readonly vmi: kubevirt.VirtualMachineInstance;
  readonly target: Pod | undefined;
  readonly overQuota?: boolean;
}

const OVER_QUOTA = "migrationRejectedByResourceQuota";
const BLOCKED_BY_BACKUP = "migrationBlockedByBackup";
const UNSCHEDULABLE_MS = 5 * 60_000;
const PENDING_MS = 15 * 60_000;

const phaseOf = ({ migration }: MigrationFacts): string => migration.status?.phase ?? "";

/** Returns the VMI's migration state. Returns undefined if it belongs to another migration. */
export function stateFor({ migration, vmi }: MigrationFacts): kubevirt.MigrationState | undefined {
  const { migrationState } = vmi.status ?? {};
  return migrationState?.migrationUid === migration.metadata.uid ? migrationState : undefined;
}

export function isCancelled({ migration }: MigrationFacts): boolean {
  return migration.metadata.deletionTimestamp !== undefined;
}

export function nextPhase(facts: MigrationFacts): string {
  const { vmi, target } = facts;
  const phase = phaseOf(facts);
  if (isLost(facts)) return "Failed";
  switch (phase) {
    case "":
      return kubevirt.syncPhase(facts.migration) ?? "Pending";
    // The migration stays in this phase, because the sandbox has no other cluster.
    case "Synchronizing":
    case "WaitingForSync":
      return phase;
    case "Pending":
      return target === undefined || runningBackup(vmi) !== undefined ? phase : "Scheduling";
    default:
      return target === undefined ? "Failed" : withTarget(phase, target, stateFor(facts));
  }
}

function isLost(facts: MigrationFacts): boolean {
  const { vmi, target } = facts;
  const state = stateFor(facts);
  const cancelled = isCancelled(facts) && state === undefined;
  const ended = kubevirt.isFinal(vmi.status) || (target !== undefined && !isActive(target));
  return ended || cancelled || state?.failed === true;
}

/**
 * Returns the phase of a migration with a target pod. After the handover to virt-handler, the migration state
 * determines the phase. No phase is skipped.
 */
function withTarget(phase: string, target: Pod, state: kubevirt.MigrationState | undefined): string {
  if (phase === "Scheduling") return isReady(target) ? "Scheduled" : phase;
  if (state === undefined) return phase === "Scheduled" ? phase : "Failed";
  switch (phase) {
    case "Scheduled":
      return "PreparingTarget";
    case "PreparingTarget":
      return state.targetNodeAddress === undefined ? phase : "TargetReady";
    case "TargetReady":
      return state.startTimestamp === undefined ? phase : "Running";
    default:
      return state.completed === true ? "Succeeded" : phase;
  }
}

/** Returns the migration's conditions. They report an abort, or a wait for a backup or a quota. */
export function conditionsOf(facts: MigrationFacts, now: string): Condition[] {
  const { conditions = [] } = facts.migration.status ?? {};
  const reported = (type: string) => conditionOf({ type, status: "True", lastProbeTime: now });
  if (isCancelled(facts)) return withCondition(conditions, reported("migrationAbortRequested"));
  if (phaseOf(facts) !== "Pending") return withoutCondition(conditions, OVER_QUOTA);
  const backup = runningBackup(facts.vmi);
  if (backup !== undefined) {
    const aborting = `Aborting backup ${backup} for system-critical migration`;
    const message = endsBackup(facts) ? aborting : `Waiting for backup ${backup} to complete`;
    return withCondition(conditions, { ...reported(BLOCKED_BY_BACKUP), reason: "BackupInProgress", message });
  }
  const others = withoutCondition(conditions, BLOCKED_BY_BACKUP);
  return facts.overQuota === true ? withCondition(others, reported(OVER_QUOTA)) : others;
}

function runningBackup({ status }: kubevirt.VirtualMachineInstance): string | undefined {
  const { backupName, completed } = status?.changedBlockTracking?.backupStatus ?? {};
  return completed === true ? undefined : backupName;
}

/** Returns true if the migration aborts the running backup. Other migrations wait until the backup has ended. */
export function endsBackup({ migration, vmi }: MigrationFacts): boolean {
  return runningBackup(vmi) !== undefined && migration.spec.priority === "system-critical";
}

export function isReady(target: Pod | undefined): target is Pod {
  return target?.spec?.nodeName !== undefined && isTrue(target.status?.conditions, "Ready");
}

/** Returns the milliseconds until a Pending target pod is deleted. This time is shorter if the pod is unschedulable. */
export function patienceWith({ metadata, status }: Pod, now: Date): number | undefined {
  if (status?.phase !== "Pending" || metadata.deletionTimestamp !== undefined) return undefined;
  const unschedulable = findCondition<Condition>(status.conditions, "PodScheduled")?.reason === "Unschedulable";
  return Date.parse(metadata.creationTimestamp) + (unschedulable ? UNSCHEDULABLE_MS : PENDING_MS) - now.getTime();
}
