/** What is written into the status of an `Evacuation`. */
import type { EvacuationCondition, EvacuationFacts, EvacuationStatus, VmiFacts } from "../facts.ts";
import { guestPodUID, podUIDOf, sourceNodeOf } from "./identity.ts";
import { isMarked } from "./mark.ts";
import { isEnd, type Phase } from "./phase.ts";

export interface Change {
  readonly phase: Phase;
  /** CamelCase, for programs. */
  readonly reason: string;
  /** For people: why it waits, what blocks it, who can change that. */
  readonly message: string;
  readonly more?: Partial<EvacuationStatus>;
  /** Undefined: as it was. */
  readonly stalled?: boolean | undefined;
  /** Of an end: whether nothing of it is left to be taken back. */
  readonly released?: boolean;
}

/** The status after a look at the VMI. Identity is resolved once and then kept. */
export function statusAfter(
  e: EvacuationFacts,
  vmi: VmiFacts | undefined,
  change: Change,
  now: Date,
): EvacuationStatus {
  const { phase, reason, message, more } = change;
  const time = now.toISOString();
  const conditions = [...marked(vmi), ...stalled(change, e.status), ...ended(change)];
  return {
    ...e.status,
    ...(vmi === undefined || e.status.sourceNode !== undefined ? {} : identityOf(e, vmi)),
    startTime: e.status.startTime ?? time,
    phase,
    reason,
    // Half a character would come back from the API server as another one, and be written again with every look.
    message: message.slice(0, MOST_CHARACTERS).toWellFormed(),
    // The back-off of an evacuation that has ended, if any, is another one's: it keeps the next evacuation waiting.
    ...(isEnd(phase) ? { nextAttemptTime: undefined, completionTime: time } : {}),
    ...more,
    conditions: conditionsAfter(e.status.conditions, conditions, time),
  };
}

/** As the CRD's schema allows. */
const MOST_CHARACTERS = 1024;

function identityOf(e: EvacuationFacts, vmi: VmiFacts): Partial<EvacuationStatus> {
  return {
    virtualMachineInstanceUID: vmi.uid,
    podName: e.spec.pod?.name,
    podUID: podUIDOf(e) ?? guestPodUID(vmi),
    sourceNode: sourceNodeOf(e, vmi),
  };
}

type Shown = Omit<EvacuationCondition, "lastTransitionTime">;

/** Once seen, a mark stays recorded: if it is missing later, it was removed. */
function marked(vmi: VmiFacts | undefined): readonly Shown[] {
  if (vmi === undefined || !isMarked(vmi)) return [];
  const message = `status.evacuationNodeName is ${vmi.evacuationNodeName}`;
  return [{ type: "Marked", status: "True", reason: "Marked", message }];
}

/** False is recorded only after True. */
function stalled({ stalled: is }: Change, { conditions }: EvacuationStatus): readonly Shown[] {
  const type = "Stalled";
  if (is === true) {
    const message = "KubeVirt has not begun the migration although its limits are not reached";
    return [{ type, status: "True", reason: "LimitsNotReached", message }];
  }
  const isTold = is === false && conditions.some((condition) => condition.type === type);
  return isTold ? [{ type, status: "False", reason: "NotStalled", message: "" }] : [];
}

function ended({ phase, reason, message, released = true }: Change): readonly Shown[] {
  if (!isEnd(phase)) return [];
  const evacuated = { type: "Evacuated", status: phase === "Moved" ? "True" : "False", reason, message } as const;
  const shown = [evacuated, released ? RELEASED : TO_BE_RELEASED];
  return phase === "Abandoned" ? [...shown, { type: "Failed", status: "True", reason, message }] : shown;
}

const RELEASED = { type: "Released", status: "True", reason: "Released", message: "" } as const;
const TO_BE_RELEASED = {
  type: "Released",
  status: "False",
  reason: "ToBeReleased",
  message: "its mark, and migrations of it that have not begun, are still to be taken back",
} as const;

/** What remains to be said of one that has ended. `message`: why nothing was taken back, if so. */
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
    return same ?? { ...one, lastTransitionTime: time };
  });
  return [...kept, ...changed].toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

/** Whether there is anything to write. */
export function isChanged(before: EvacuationStatus, after: EvacuationStatus): boolean {
  return textOf(before) !== textOf(after);
}

function textOf(status: EvacuationStatus): string {
  const entries = Object.entries(status).filter(([, value]) => value !== undefined);
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
