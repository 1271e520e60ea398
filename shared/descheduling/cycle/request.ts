/** Requesting one evacuation or eviction, so that no request is lost or made twice, even if a cycle dies. */
import { type Action, type EventReason, recordPodEvent } from "../../policy/action.ts";
import { activeEvacuation, newEvacuation, backingOffEvacuation } from "../../policy/evacuation/identity.ts";
import { isLive } from "../../policy/evacuation/mark.ts";
import { isToMove } from "../../policy/eviction/eviction-table.ts";
import type { VmiFacts } from "../../policy/facts.ts";
import { isListedBy } from "../../policy/kube/pod-kind.ts";
import { EVACUATION_REQUESTED_ANNOTATION } from "../../policy/names.ts";
import type { Settings } from "../../policy/settings.ts";
import type { DeschedulerPolicy } from "./policy.ts";
import type { EvictionOutcome } from "./eviction-answer.ts";
import type { DeschedulerPod } from "../plugins/facts.ts";
import { isEvacuated, vmiOf, type Vmis } from "./in-progress.ts";
import type { Counters } from "./limits.ts";
import type { Nominated } from "./nominations.ts";
import type { ActOutcome, Step, StepResult } from "./step.ts";
import { requesterOf } from "./withdrawals.ts";

/**
 * `PodChanged`: the pod was written to since it was read, or another function was first. `BackingOff`: the VM's last evacuation ended
 * without a move a moment ago. `InProgress`: another party's has begun since the world was read.
 */
export type RequestResult = EvictionOutcome | "PodChanged" | "BackingOff" | "InProgress";

/** Why a cycle is over. `AnotherCycle`: one runs at the same time. */
export const CYCLE_ENDS = ["Finished", "AnotherCycle", "ClusterUnavailable", "OutOfTime"] as const;
export type CycleEnd = (typeof CYCLE_ENDS)[number];

/** The state of a cycle between requests. */
export interface Requesting {
  readonly policy: DeschedulerPolicy;
  readonly settings: Settings;
  readonly vmis: Vmis;
  readonly inBackground: boolean;
  readonly counters: Counters;
  /** RFC 3339. */
  readonly begun: string;
  readonly until: Date;
  /** When the last step was over. */
  now: Date;
}

export type Steps<T> = Generator<Step, T, StepResult>;

export function* perform(step: Extract<Step, { step: "Act" | "Withdraw" }>, r: Requesting): Steps<ActOutcome> {
  const result = yield step;
  r.now = result.now;
  return result.step === step.step ? result.outcome : "Failed";
}

export function* request(nominated: Nominated, r: Requesting): Steps<RequestResult | CycleEnd> {
  if (r.now > r.until) return "OutOfTime";
  const result = yield* inItsForm(nominated, r);
  if (result === "InProgress") r.counters.requested(nominated.pod);
  if (isOutcome(result)) yield* note(nominated, result, r);
  return result;
}

function* inItsForm(nominated: Nominated, r: Requesting): Steps<RequestResult | CycleEnd> {
  const { pod } = nominated;
  if (!r.inBackground || !isEvacuated(pod)) return yield* ask(nominated, false, r);
  const vmi = vmiOf(pod, r.vmis);
  const isEvacuable = vmi !== undefined && isLive(vmi) && isListedBy(vmi, pod) && isToMove(vmi, r.settings);
  return isEvacuable ? yield* evacuate(nominated, vmi, r) : yield* askAndRemember(nominated, r);
}

/** Looks first: what has begun since the world was read, a drain for example, is joined. */
function* evacuate(nominated: Nominated, vmi: VmiFacts, r: Requesting): Steps<RequestResult | CycleEnd> {
  const { name, uid } = nominated.pod;
  const found = yield { step: "Look", vmi };
  r.now = found.now;
  if (found.step !== "Look" || found.evacuations === undefined) return "ClusterUnavailable";
  const { evacuations } = found;
  if (activeEvacuation(vmi, evacuations, uid) !== undefined) return "InProgress";
  if (backingOffEvacuation(vmi, evacuations, { now: r.now, podUID: uid }) !== undefined) return "BackingOff";
  if (r.now > r.until) return "OutOfTime";
  const beginning = { cause: "Descheduler", requestedBy: requesterOf(nominated), pod: { name, uid } } as const;
  const evacuation = newEvacuation(vmi, beginning, { evacuations, now: r.now });
  switch (yield* perform({ step: "Act", action: { verb: "CreateEvacuation", evacuation } }, r)) {
    case "Done":
      return "Background";
    case "Conflict":
    case "Refused":
      return "PodChanged";
    case "Failed":
      return "Unknown";
  }
}

/** The time on the pod counts for every later cycle, until the evacuating side confirms the request or it expires. */
function* askAndRemember(nominated: Nominated, r: Requesting): Steps<RequestResult | CycleEnd> {
  const { pod } = nominated;
  const add = { [EVACUATION_REQUESTED_ANNOTATION]: r.now.toISOString() };
  const changed = yield* perform({ step: "Act", action: { verb: "AnnotatePod", pod, add, remove: [] } }, r);
  if (changed === "Failed") return "ClusterUnavailable";
  if (changed !== "Done") return "PodChanged";
  const outcome = r.now > r.until ? "OutOfTime" : yield* ask(nominated, true, r);
  if (outcome !== "Refused" && outcome !== "OutOfTime") return outcome;
  // Every cycle counts a request time that stays on the pod, so this one does, too.
  if ((yield* perform({ step: "Act", action: takeBack(pod, add) }, r)) !== "Done") r.counters.requested(pod);
  return outcome;
}

/** Only if no other request time has been written since. */
function takeBack(pod: DeschedulerPod, written: Readonly<Record<string, string>>): Action {
  const annotated = { ...pod, annotations: { ...pod.annotations, ...written }, hasAnnotations: true };
  return { verb: "AnnotatePod", pod: annotated, add: {}, remove: [EVACUATION_REQUESTED_ANNOTATION] };
}

function* ask(nominated: Nominated, inBackground: boolean, r: Requesting): Steps<EvictionOutcome> {
  const result = yield { step: "Evict", nominated, inBackground };
  r.now = result.now;
  return result.step === "Evict" ? result.outcome : "Unknown";
}

/** The Event on the pod for each outcome. A failure is told only if the policy asks for it. */
const TOLD = {
  Evicted: { reason: "Descheduled", words: "is evicted" },
  Background: { reason: "Descheduled", words: "is evacuated" },
  Refused: { reason: "EvictionFailed", words: "is not evicted: refused" },
  Unknown: { reason: "EvictionFailed", words: "may be evicted or not: no answer" },
  Gone: undefined,
} as const satisfies Record<EvictionOutcome, { reason: EventReason; words: string } | undefined>;

function isOutcome(result: RequestResult | CycleEnd): result is EvictionOutcome {
  return result in TOLD;
}

function* note(nominated: Nominated, outcome: EvictionOutcome, r: Requesting): Steps<void> {
  const { pod, profile, plugin, reason } = nominated;
  count(pod, outcome, r);
  const told = TOLD[outcome];
  if (told === undefined || (told.reason === "EvictionFailed" && !r.policy.notifyFailures)) return;
  const why = reason === undefined ? "" : ` (${reason})`;
  const message = `${told.words}, nominated on node ${pod.nodeName} by ${profile}/${plugin}${why}`;
  yield* perform({ step: "Act", action: recordPodEvent(pod, told.reason, message, r.begun) }, r);
}

/** A request without an answer may have begun, so it counts. */
function count(pod: DeschedulerPod, outcome: EvictionOutcome, { counters, inBackground }: Requesting): void {
  const begun = outcome === "Unknown" ? (inBackground ? "Background" : "Evicted") : outcome;
  if (begun === "Background") counters.requested(pod);
  if (begun === "Evicted") counters.evicted(pod);
}
