/**
 * Where a migration stands, read off the world: its VMI, its target pod, its own last phase.
 * Owns: the order of the phases and what each waits for. Does not own: bringing any of it about.
 */
import { isTrue } from "../../actors/conditions.ts";
import type { Pod } from "../../actors/resources.ts";
import * as kubevirt from "../resources.ts";
import { isActive } from "./world.ts";

export interface MigrationFacts {
  readonly migration: kubevirt.VirtualMachineInstanceMigration;
  readonly vmi: kubevirt.VirtualMachineInstance | undefined;
  readonly target: Pod | undefined;
  readonly now: Date;
}

/** A target nobody can place is given up sooner than one that is only slow to start. */
const UNSCHEDULABLE_MS = 5 * 60_000;
const PENDING_MS = 15 * 60_000;

export function nextPhase(facts: MigrationFacts): string {
  const { migration, vmi } = facts;
  if (vmi === undefined || isGoing(vmi)) return "Failed";
  const state = stateFor(migration, vmi);
  if (state?.failed === true) return "Failed";
  if (state === undefined && migration.metadata.deletionTimestamp !== undefined) return "Failed";
  return onward(migration.status?.phase ?? "", state, facts);
}

function onward(phase: string, state: kubevirt.MigrationState | undefined, { target, now }: MigrationFacts): string {
  switch (phase) {
    case "":
      return "Pending";
    case "Pending":
      return target === undefined ? "Pending" : "Scheduling";
    case "Scheduling":
      return scheduling(target, now);
    default:
      return target !== undefined && isActive(target) ? handedOver(phase, state) : "Failed";
  }
}

function isGoing({ metadata, status }: kubevirt.VirtualMachineInstance): boolean {
  return kubevirt.isFinal(status) || metadata.deletionTimestamp !== undefined;
}

/** The VMI's migration state, if it is about this migration. */
function stateFor(
  { metadata }: kubevirt.VirtualMachineInstanceMigration,
  { status }: kubevirt.VirtualMachineInstance,
): kubevirt.MigrationState | undefined {
  return status?.migrationState?.migrationUid === metadata.uid ? status.migrationState : undefined;
}

function scheduling(target: Pod | undefined, now: Date): string {
  if (isLost(target, now)) return "Failed";
  return isReady(target) ? "Scheduled" : "Scheduling";
}

/** Once handed over, the VMI's own migration state says how far the handlers are; no phase is left out. */
function handedOver(phase: string, state: kubevirt.MigrationState | undefined): string {
  if (state === undefined) return phase;
  switch (phase) {
    case "Scheduled":
      return "PreparingTarget";
    case "PreparingTarget":
      return state.targetNodeAddress === undefined ? phase : "TargetReady";
    case "TargetReady":
      return state.startTimestamp === undefined ? phase : "Running";
    default:
      return state.endTimestamp === undefined ? phase : "Succeeded";
  }
}

function isReady(target: Pod | undefined): boolean {
  return target?.spec?.nodeName !== undefined && isTrue(target.status?.conditions, "Ready");
}

function isLost(target: Pod | undefined, now: Date): boolean {
  if (target === undefined || !isActive(target) || target.metadata.deletionTimestamp !== undefined) return true;
  const age = now.getTime() - Date.parse(target.metadata.creationTimestamp);
  return !isReady(target) && age > (target.spec?.nodeName === undefined ? UNSCHEDULABLE_MS : PENDING_MS);
}
