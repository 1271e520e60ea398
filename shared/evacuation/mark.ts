/**
 * The mark: `status.evacuationNodeName` of a VMI, if it names the node that the VM is on. KubeVirt evacuates such a VM. This file says what
 * marking a VMI requires, and whether the mark is present, being written or removed.
 */
import type { Action } from "../kube/action.ts";
import { ensureBudget } from "../budget/budget.ts";
import { CAUSE, type Cause, type Urgency } from "../kube/evacuation.ts";
import type { PodFacts, VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import { secondsSince } from "../settings/time.ts";
import type { EvacuationCase } from "./world.ts";

/** For the node it is on: a mark for a node that it has left means nothing. */
export function isMarked(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === vmi.nodeName;
}

/** KubeVirt's webhook marks what it has read: its mark may come when the VM has left, and no other mark comes while it is there. */
export function isMarkedTooLate(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.nodeName !== undefined && !isMarked(vmi);
}

/** The label comes before the mark, after which KubeVirt looks for a MigrationPolicy; it marks no VM that has the mark of another node. */
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
  // The scheduler, the taint manager and a kubelet ask no budget: for them the mark does not wait for one.
  const isAsked = CAUSE[cause].asksToEvict;
  const budget = ensureBudget(vmi, settings).map((create) =>
    isAsked ? create : { ...create, optional: true as const },
  );
  return [...budget, ...cleared, ...label, ...mark];
}

/** The value of the label that the shipped MigrationPolicy selects. The owner of a VM decides whether its guest may be slowed down or paused. */
export function urgencyOf({ isGentle }: VmiFacts, cause: Cause): Urgency {
  return isGentle === true ? "normal" : CAUSE[cause].urgency;
}

/** Whether the next attempt is the last, and the label does not say so: KubeVirt looks for it at the hand-over, 20 s later at least. */
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

/** How long a review may take from creating an Evacuation to marking its VM: until the API server has given it up, and a little more. */
const MARKING_SECONDS = 15;

/** A review creates an Evacuation and marks next: ended in between, it would leave a mark that looks like a new request of KubeVirt's. */
export function isMarkOnItsWay(f: EvacuationCase): boolean {
  const age = secondsSince(f.e.createdAt, f.w.now);
  return isMarkMissing(f) && !wasMarkSeen(f) && Math.abs(age) < MARKING_SECONDS;
}

export const WAITS_FOR_CONTROLLER = "eviction strategy External: its external controller has to move it";
