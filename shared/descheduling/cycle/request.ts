/**
 * Requesting one evacuation or eviction, so that no request is lost or made twice, even if a cycle dies or stalls.
 * Owns: the protocol: reserve in the register, write the time on the pod, evict, take the time back after a refusal, record
 * the outcome. Does not own: whether to request (cycle.ts).
 */
import { type Action, type StoryReason, tellPod } from "../../policy/action.ts";
import { EVACUATION_REQUESTED_ANNOTATION } from "../../policy/names.ts";
import type { DeschedulerPolicy } from "./policy.ts";
import type { EvictionOutcome } from "./eviction-answer.ts";
import type { DeschedulerPod } from "../plugins/facts.ts";
import { isEvacuated } from "./in-progress.ts";
import type { Counters } from "./limits.ts";
import type { Nominated } from "./nominations.ts";
import { counted, type DeschedulingRegister, type RequestCount, reservationOf, written } from "./register.ts";
import type { ActOutcome, Step, StepResult } from "./step.ts";

/** `PodChanged`: the pod was written to since it was read. */
export type RequestResult = EvictionOutcome | "PodChanged";

/** Why a cycle is over. `AnotherCycle`: one that has begun since the world was read, or runs at the same time. */
export const CYCLE_ENDS = ["Finished", "AnotherCycle", "ClusterUnavailable", "OutOfTime"] as const;
export type CycleEnd = (typeof CYCLE_ENDS)[number];

/** The state of a cycle between requests. */
export interface Requesting {
  readonly policy: DeschedulerPolicy;
  readonly inBackground: boolean;
  readonly counters: Counters;
  /** RFC 3339. */
  readonly begun: string;
  readonly until: Date;
  /** When the last step was over. */
  now: Date;
  /** Without the reservation of the request under way. */
  register: DeschedulingRegister;
  /** Not yet in the register. */
  outcomes: readonly Omit<RequestCount, "count">[];
  /** UIDs of pods that no longer need their reservation in the register. */
  released: ReadonlySet<string>;
}

export type Steps<T> = Generator<Step, T, StepResult>;

/** Share of the request TTL within which a stalled cycle still evicts: later, other cycles would soon stop counting the request. */
const ASKING_SHARE = 0.5;

export function* perform(step: Extract<Step, { step: "Write" | "Act" }>, r: Requesting): Steps<ActOutcome> {
  const result = yield step;
  r.now = result.now;
  return result.step === step.step ? result.outcome : "Failed";
}

function* write(r: Requesting, reservations: DeschedulingRegister["reservations"]): Steps<ActOutcome> {
  const counts = r.outcomes.reduce(counted, r.register.counts);
  const register = written({ ...r.register, reservations, counts, lastCycle: r.begun });
  const outcome = yield* perform({ step: "Write", found: r.register.found, register }, r);
  if (outcome !== "Done") return outcome;
  r.register = { ...register, reservations: r.register.reservations };
  r.outcomes = [];
  r.released = new Set();
  return outcome;
}

/** False: another cycle has begun. */
export function* claim(r: Requesting): Steps<boolean> {
  return (yield* write(r, r.register.reservations)) === "Done";
}

export function* request(nominated: Nominated, r: Requesting): Steps<RequestResult | CycleEnd> {
  if (r.now > r.until) return "OutOfTime";
  const { pod } = nominated;
  const at = r.now;
  const others = r.register.reservations;
  const inBackground = r.inBackground && isEvacuated(pod);
  const reserved = yield* write(r, inBackground ? [...others, reservationOf(pod, at)] : others);
  if (reserved !== "Done") return reserved === "Failed" ? "ClusterUnavailable" : "AnotherCycle";
  const result = inBackground ? yield* evacuate(nominated, at, r) : yield* ask(nominated, false, r);
  // Whether the pod carries the request time is unknown after a failure: the reservation stays until it expires.
  if (inBackground && result !== "ClusterUnavailable") r.released = new Set([...r.released, pod.uid]);
  if (isOutcome(result)) yield* note(nominated, result, r);
  return result;
}

/** Once the pod carries the request time it needs no reservation. */
function* evacuate(nominated: Nominated, at: Date, r: Requesting): Steps<RequestResult | CycleEnd> {
  const { pod } = nominated;
  const add = { [EVACUATION_REQUESTED_ANNOTATION]: at.toISOString() };
  const changed = yield* perform({ step: "Act", action: { verb: "AnnotatePod", pod, add, remove: [] } }, r);
  if (changed === "Failed") return "ClusterUnavailable";
  if (changed !== "Done") return "PodChanged";
  const latest = at.getTime() + r.policy.requestTtlSeconds * ASKING_SHARE * 1000;
  const outcome = r.now.getTime() > latest ? "OutOfTime" : yield* ask(nominated, true, r);
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
} as const satisfies Record<EvictionOutcome, { reason: StoryReason; words: string } | undefined>;

function isOutcome(result: RequestResult | CycleEnd): result is EvictionOutcome {
  return result in TOLD;
}

function* note(nominated: Nominated, outcome: EvictionOutcome, r: Requesting): Steps<void> {
  const { pod, profile, plugin, reason } = nominated;
  r.outcomes = [...r.outcomes, { profile, plugin, result: outcome }];
  count(pod, outcome, r);
  const told = TOLD[outcome];
  if (told === undefined || (told.reason === "EvictionFailed" && !r.policy.notifyFailures)) return;
  const why = reason === undefined ? "" : ` (${reason})`;
  const message = `${told.words}, nominated on node ${pod.nodeName} by ${profile}/${plugin}${why}`;
  yield* perform({ step: "Act", action: tellPod(pod, told.reason, message, r.begun) }, r);
}

/** A request without an answer may have begun, so it counts. */
function count(pod: DeschedulerPod, outcome: EvictionOutcome, { counters, inBackground }: Requesting): void {
  const begun = outcome === "Unknown" ? (inBackground ? "Background" : "Evicted") : outcome;
  if (begun === "Background") counters.requested(pod);
  if (begun === "Evicted") counters.evicted(pod);
}

/** How often to try again after another cycle has written first. */
const TRIES = 5;

/** Records what is not yet in the register, on top of what other cycles have written. */
export function* settle(r: Requesting): Steps<void> {
  for (let i = 0; i < TRIES && (r.outcomes.length > 0 || r.released.size > 0); i++) {
    const outcome = yield* write(r, r.register.reservations);
    if (outcome === "Done" || outcome === "Failed" || !(yield* readAgain(r))) return;
  }
}

function* readAgain(r: Requesting): Steps<boolean> {
  const result = yield { step: "Read" };
  r.now = result.now;
  if (result.step !== "Read" || result.register === undefined) return false;
  const { register } = result;
  r.register = { ...register, reservations: register.reservations.filter(({ uid }) => !r.released.has(uid)) };
  return true;
}
