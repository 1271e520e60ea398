/**
 * Marks a VMI, and checks whether it is marked. A VMI is marked if `status.evacuationNodeName` is its node. KubeVirt
 * then evacuates the VMI.
 */
import type { Action } from "../kube/action.ts";
import { ensureBudget } from "../budget/budget.ts";
import { CAUSE, type Cause, type Urgency } from "../kube/evacuation.ts";
import type { PodFacts, VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import { secondsSince } from "../settings/time.ts";
import type { EvacuationCase } from "./world.ts";

/** Returns whether the VMI's evacuationNodeName is the VMI's node. */
export function isMarked(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === vmi.nodeName;
}

/**
 * Returns whether the VMI's evacuationNodeName names a former node of the VM. KubeVirt's webhook can set the field
 * after the VM has moved. Until the field is cleared, KubeVirt cannot mark the VMI for another node.
 */
export function isMarkedTooLate(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.nodeName !== undefined && !isMarked(vmi);
}

/**
 * Returns the actions that set the VMI's evacuationNodeName. Sets Lifeboat's label first, because KubeVirt uses this
 * label to choose a MigrationPolicy. Clears the field first if it names another node, because KubeVirt would not
 * replace that name.
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
  // PodDisruptionBudgets do not stop the scheduler, the taint manager or the kubelet. If budgets cannot refuse the
  // request, the evacuation needs no budget, and continues even if Lifeboat cannot create the budget.
  const isAsked = CAUSE[cause].asksToEvict;
  const budget = ensureBudget(vmi, settings).map((create) =>
    isAsked ? create : { ...create, optional: true as const },
  );
  return [...budget, ...cleared, ...label, ...mark];
}

/**
 * Returns the value of Lifeboat's label on the VMI. For `urgent`, Lifeboat's MigrationPolicy allows KubeVirt to slow
 * down or pause the guest. A VM with `lifeboat.dev/convergence: gentle` always gets `normal`.
 */
export function urgencyOf({ isGentle }: VmiFacts, cause: Cause): Urgency {
  return isGentle === true ? "normal" : CAUSE[cause].urgency;
}

/**
 * Returns whether the label must become `urgent` before the last attempt. KubeVirt reads the label when it hands the
 * last migration over to virt-handler. This is at least 20 s after the previous migration failed, so the new value
 * takes effect.
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
 * An admission review that creates an Evacuation sets the evacuationNodeName at most this number of seconds later. The
 * number is the webhook's timeout plus a margin.
 */
const MARKING_SECONDS = 15;

/**
 * Returns whether an admission review that is still running might set the evacuationNodeName. If so, the Evacuation
 * must not end yet, because Lifeboat would treat this evacuationNodeName as a new request.
 */
export function isMarkOnItsWay(f: EvacuationCase): boolean {
  const age = secondsSince(f.e.createdAt, f.w.now);
  return isMarkMissing(f) && !wasMarkSeen(f) && Math.abs(age) < MARKING_SECONDS;
}
