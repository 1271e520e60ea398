/**
 * The mark: what `status.evacuationNodeName` means, which VMs leave their node because of it, and what marking one takes. Upstream: the
 * filters of KubeVirt's evacuation controller (`vmisToMigrate`, `filterRunningNonMigratingVMIs`).
 */
import type { Action } from "../action.ts";
import { areBudgetsWanted } from "../budget/budget-mode.ts";
import { budgetName } from "../budget/identity.ts";
import { CAUSE, type Cause } from "../cause.ts";
import { urgencyOf } from "./convergence.ts";
import { isFinal, type VmiFacts } from "../facts.ts";
import { isBeingReceived } from "../kube/pod-kind.ts";
import type { Settings } from "../settings.ts";
import { MIGRATES, strategyOf } from "../eviction/eviction-table.ts";

/** For the node it is on: a mark for a node that it has left means nothing. */
export function isMarked(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === vmi.nodeName;
}

/**
 * KubeVirt's webhook reads the VM and then marks it, whatever has become of it meanwhile: its mark may come when the VM has moved and
 * the migration has cleared the one before. While it is there KubeVirt marks the VM for no other node, and says that it is leaving.
 */
export function isMarkedTooLate(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.nodeName !== undefined && !isMarked(vmi);
}

export function isLive(vmi: VmiFacts): boolean {
  return !vmi.deleting && !isFinal(vmi) && vmi.nodeName !== undefined && !isBeingReceived(vmi);
}

/** Whether KubeVirt, or Lifeboat in its place, migrates the VM when it has to leave its node. */
export function canMigrate(vmi: VmiFacts, settings: Settings): boolean {
  return isLive(vmi) && MIGRATES[strategyOf(vmi, settings)] && vmi.liveMigratable.migratable;
}

/** Marked, and to leave by such a migration, or, with strategy External, by one that its owner may create at any moment. */
export function isToLeave(vmi: VmiFacts, settings: Settings): boolean {
  return isMarked(vmi) && isLive(vmi) && strategyOf(vmi, settings) !== "None" && vmi.liveMigratable.migratable;
}

/**
 * The budget grows before the mark: KubeVirt, or the VM's owner, may migrate the VM as soon as it is marked, and with a budget of 1 a ready
 * target makes the source evictable. The scheduler, the taint manager and a kubelet ask no budget: for them the mark does not wait for one
 * that cannot grow.
 */
export function readyToMove(vmi: VmiFacts, cause: Cause, settings: Settings): readonly Action[] {
  if (!areBudgetsWanted(settings) || !vmi.liveMigratable.migratable) return [];
  return [{ verb: "GrowBudget", vmi, name: budgetName(vmi), required: CAUSE[cause].asksToEvict }];
}

/**
 * KubeVirt is asked to mark the VM. Not of an eviction: its own webhook reviews the same request. It marks none that still has the mark for a
 * node that it has left, so that one goes first. It may look for a MigrationPolicy as soon as the VM is marked, so the label comes before.
 */
export function markActions(vmi: VmiFacts, cause: Cause, settings: Settings): readonly Action[] {
  const isLate = isMarkedTooLate(vmi);
  const urgency = urgencyOf(vmi, cause);
  const isLabelled = urgency === "normal" || (vmi.evacuationLabel === urgency && !isLate);
  const label: readonly Action[] = isLabelled ? [] : [{ verb: "Label", vmi, urgency }];
  if (isMarked(vmi)) return label;
  const cleared: readonly Action[] = isLate ? [{ verb: "Unmark", vmi }] : [];
  const mark: readonly Action[] =
    CAUSE[cause].mark === "Asked"
      ? [{ verb: "Mark", vmi, ...(cause === "Descheduler" && { forDescheduler: true }) }]
      : [];
  return [...readyToMove(vmi, cause, settings), ...cleared, ...label, ...mark];
}
