/**
 * The mark: `status.evacuationNodeName` of a VMI, if the field names the node that the VM is on. KubeVirt evacuates a
 * marked VM. This file says what has to happen before a mark, and whether the mark is present, being written or
 * removed.
 */
import type { Action } from "../kube/action.ts";
import { ensureBudget } from "../budget/budget.ts";
import { CAUSE, type Cause, type Urgency } from "../kube/evacuation.ts";
import type { PodFacts, VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import { secondsSince } from "../settings/time.ts";
import type { EvacuationCase } from "./world.ts";

/** Returns whether the VMI has a mark for the node that it is on. A mark for a former node means nothing. */
export function isMarked(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === vmi.nodeName;
}

/**
 * Returns whether the VM's mark (`status.evacuationNodeName`) names a former node. KubeVirt's webhook writes the node
 * that it read before, so the mark may arrive after the move. As long as such a mark exists, the VMI cannot be marked
 * for its present node.
 */
export function isMarkedTooLate(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.nodeName !== undefined && !isMarked(vmi);
}

/**
 * Returns the actions that mark a VM. The label is set before the mark, because KubeVirt chooses a MigrationPolicy
 * after the mark. A mark for another node is removed, because KubeVirt would not replace it.
 */
export function markActions(
  vmi: VmiFacts,
  cause: Cause,
  settings: Settings,
  launcher?: Pick<PodFacts, "name">,
): readonly Action[] {
  const isLate = isMarkedTooLate(vmi);
  const urgency = urgencyOf(vmi, cause);
  const isLabelled = urgency === "normal" || (vmi.evacuationLabel === urgency && !isLate);
  const label: readonly Action[] = isLabelled ? [] : [{ verb: "Label", vmi, urgency }];
  if (isMarked(vmi)) return label;
  const cleared: readonly Action[] = isLate ? [{ verb: "Unmark", vmi }] : [];
  const mark: readonly Action[] =
    CAUSE[cause].mark === "Asked"
      ? [
          {
            verb: "Mark",
            vmi,
            ...(launcher && { launcher: launcher.name }),
            ...(cause === "Descheduler" && { forDescheduler: true }),
          },
        ]
      : [];
  // The scheduler, the taint manager and the kubelet ignore budgets, so the mark does not wait for a budget.
  const isAsked = CAUSE[cause].asksToEvict;
  const budget = ensureBudget(vmi, settings).map((create) =>
    isAsked ? create : { ...create, optional: true as const },
  );
  return [...budget, ...cleared, ...label, ...mark];
}

/**
 * Returns the value of the label that the shipped MigrationPolicy selects. The owner decides whether migration may slow
 * or pause the guest.
 */
export function urgencyOf({ isGentle }: VmiFacts, cause: Cause): Urgency {
  return isGentle === true ? "normal" : CAUSE[cause].urgency;
}

/**
 * Returns whether the label must become `urgent`, because the next attempt is the last. KubeVirt reads the label at the
 * hand-over of the migration, at least 20 s later.
 */
export function isMadeUrgent({ isGentle, evacuationLabel }: VmiFacts, attempts: number, settings: Settings): boolean {
  const isLast = attempts === settings.evacuation.maxAttempts - 1;
  return isLast && isGentle !== true && evacuationLabel !== "urgent";
}

export function isMarkMissing({ e, vmi }: EvacuationCase): boolean {
  return !isMarked(vmi) && CAUSE[e.spec.cause].mark !== "NotNeeded";
}

export function missingMark(f: EvacuationCase): readonly Action[] {
  return isMarkMissing(f) ? markActions(f.vmi, f.e.spec.cause, f.w.settings) : [];
}

export function wasMarkSeen({ e }: EvacuationCase): boolean {
  return e.status.conditions.some((c) => c.type === "Marked" && c.status === "True");
}

export function isTakenBack(f: EvacuationCase): boolean {
  return isMarkMissing(f) && wasMarkSeen(f);
}

/**
 * The longest time, in seconds, in which a review marks the VM after creating its Evacuation: the API server's timeout
 * and a little more.
 */
const MARKING_SECONDS = 15;

/**
 * Returns whether a review may still mark the VM. The Evacuation must not end before this mark, because Lifeboat would
 * take the mark for a new request.
 */
export function isMarkOnItsWay(f: EvacuationCase): boolean {
  const age = secondsSince(f.e.createdAt, f.w.now);
  return isMarkMissing(f) && !wasMarkSeen(f) && Math.abs(age) < MARKING_SECONDS;
}
