/** Makes the status of an Evacuation. */
import type { Action } from "../kube/action.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { isRetried } from "./attempts.ts";
import { guestPodUID, podUIDOf, sourceNodeOf } from "./identity.ts";
import { isMarked } from "./mark.ts";
import { EVACUATION_MESSAGES as MESSAGES } from "./messages.ts";
import {
  EVACUATION_BOUNDS as BOUNDS,
  type EvacuationCondition,
  type EvacuationFacts,
  type EvacuationStatus,
  isEnd,
} from "../kube/evacuation.ts";
import { type EvacuationWorld, inheritedAttempts, type Next } from "./world.ts";

interface Subject {
  readonly e: EvacuationFacts;
  readonly vmi?: VmiFacts | undefined;
  readonly w: Pick<EvacuationWorld, "now">;
}

/**
 * Returns the actions of a step. If the status is unchanged, leaves out the write of the status and the actions in
 * `after`.
 */
export function actionsOf({ e, vmi, w }: Subject, next: Next): readonly Action[] {
  const { actions = [], after = [] } = next;
  const status = statusAfter(e, vmi, next, w.now);
  return isChanged(e.status, status) ? [...actions, { verb: "WriteStatus", evacuation: e, status }, ...after] : actions;
}

function statusAfter(e: EvacuationFacts, vmi: VmiFacts | undefined, next: Next, now: Date): EvacuationStatus {
  const { phase, reason, message, more } = next;
  const time = now.toISOString();
  const conditions = [...marked(vmi), ...stalled(next, e.status), ...ended(next)];
  return {
    ...e.status,
    ...(vmi === undefined || e.status.sourceNode !== undefined ? {} : identityOf(e, vmi)),
    startTime: e.status.startTime ?? time,
    phase,
    reason,
    // A cut text can end with half of a surrogate pair. The API server would change this text, and each reconcile would
    // write the status again.
    message: message.slice(0, BOUNDS["status.message"]).toWellFormed(),
    // A retry that a person requests ends the back-off.
    ...(isRetried(e) ? { observedRetryAt: e.spec.retryAt, nextAttemptTime: time } : {}),
    // `more` can set a `nextAttemptTime` for an ended Evacuation: the end of the back-off for the VM's next Evacuation.
    ...(isEnd(phase) ? { nextAttemptTime: undefined, completionTime: time } : {}),
    attempts: inheritedAttempts(e),
    ...more,
    conditions: conditionsAfter(e.status.conditions, conditions, time),
  };
}

function identityOf(e: EvacuationFacts, vmi: VmiFacts): Partial<EvacuationStatus> {
  return {
    virtualMachineInstanceUID: vmi.uid,
    podName: e.spec.pod?.name,
    podUID: podUIDOf(e) ?? guestPodUID(vmi),
    sourceNode: sourceNodeOf(e, vmi),
  };
}

type Shown = Omit<EvacuationCondition, "lastTransitionTime">;

/**
 * Returns the condition Marked if the VMI's `status.evacuationNodeName` is set. The condition is not removed later, so
 * that Lifeboat notices when the field is cleared.
 */
function marked(vmi: VmiFacts | undefined): readonly Shown[] {
  if (vmi === undefined || !isMarked(vmi)) return [];
  return [{ type: "Marked", status: "True", reason: "Marked", message: MESSAGES.marked(vmi.evacuationNodeName) }];
}

function stalled({ stalled: is }: Next, { conditions }: EvacuationStatus): readonly Shown[] {
  const type = "Stalled";
  if (is === true) return [{ type, status: "True", reason: "LimitsNotReached", message: MESSAGES.stalled }];
  const wasStalled = is === false && conditions.some((condition) => condition.type === type);
  return wasStalled ? [{ type, status: "False", reason: "NotStalled", message: "" }] : [];
}

function ended({ phase, reason, message, released = true }: Next): readonly Shown[] {
  if (!isEnd(phase)) return [];
  const evacuated = { type: "Evacuated", status: HAS_LEFT.has(phase) ? "True" : "False", reason, message } as const;
  const held = phase === "Stopped" ? heldOff(MESSAGES.startsLater) : TO_BE_RELEASED;
  const shown = [evacuated, released ? RELEASED : held];
  return phase === "Abandoned" ? [...shown, { type: "Failed", status: "True", reason, message }] : shown;
}

const HAS_LEFT: ReadonlySet<string> = new Set(["Moved", "Restarted", "Stopped"]);

const RELEASED = { type: "Released", status: "True", reason: "Released", message: "" } as const;
const TO_BE_RELEASED = {
  type: "Released",
  status: "False",
  reason: "ToBeReleased",
  message: MESSAGES.toBeReleased,
} as const;

function heldOff(message: string) {
  return { type: "Released", status: "False", reason: "StartsLater", message } as const;
}

/** Returns a status that explains why a stopped VM does not start yet. */
export function statusHeldOff({ status }: EvacuationFacts, now: Date, message: string): EvacuationStatus {
  return { ...status, conditions: conditionsAfter(status.conditions, [heldOff(message)], now.toISOString()) };
}

/** Returns the status after the cleanup. `message` explains why something was not cleaned up. */
export function statusReleased({ status }: EvacuationFacts, now: Date, message = ""): EvacuationStatus {
  const conditions = conditionsAfter(status.conditions, [{ ...RELEASED, message }], now.toISOString());
  return { ...status, conditions };
}

function conditionsAfter(
  before: readonly EvacuationCondition[],
  shown: readonly Shown[],
  time: string,
): readonly EvacuationCondition[] {
  const kept = before.filter(({ type }) => shown.every((one) => one.type !== type));
  const changed = shown.map((one) => {
    const same = before.find(({ type, status }) => type === one.type && status === one.status);
    const message = one.message.slice(0, BOUNDS["status.conditions[].message"]).toWellFormed();
    return { ...one, message, lastTransitionTime: same?.lastTransitionTime ?? time };
  });
  return [...kept, ...changed].toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

function isChanged(before: EvacuationStatus, after: EvacuationStatus): boolean {
  return textOf(before) !== textOf(after);
}

function textOf(status: EvacuationStatus): string {
  const entries = Object.entries(status).filter(([, value]) => value !== undefined);
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
