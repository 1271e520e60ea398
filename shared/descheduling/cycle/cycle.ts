/**
 * One descheduling cycle, from the world as it was read to a report of what was asked for.
 * Owns: ruling on each nomination, the report. Does not own: choosing pods (nominations.ts), limits (limits.ts), the
 * protocol of a request (request.ts), performing steps (shared/descheduling/deschedule.ts).
 *
 * A generator: each step is performed by the reconciler, and what became of it decides on the next. So a cycle
 * may be interrupted, or stall, between any two of them, and all of its decisions can be looked at here.
 */
import type { Action } from "../../policy/action.ts";
import { EVACUATION_REQUESTED_ANNOTATION } from "../../policy/names.ts";
import type { DeschedulerPolicy } from "./policy.ts";
import type { DeschedulerPod } from "../plugins/facts.ts";
import { inProgressAmong, isConfirmed, keptReservations } from "./in-progress.ts";
import { Counters, type LimitName, VERDICT_AT_LIMIT } from "./limits.ts";
import { nominate, type Nominated, type NominationWorld, nodesOf } from "./nominations.ts";
import type { Verdict } from "../plugins/plugin.ts";
import type { DeschedulingRegister } from "./register.ts";
import {
  claim,
  CYCLE_ENDS,
  type CycleEnd,
  perform,
  request,
  type Requesting,
  type RequestResult,
  settle,
  type Steps,
} from "./request.ts";

export interface CycleWorld extends Omit<NominationWorld, "isInProgress"> {
  readonly policy: DeschedulerPolicy;
  /** Read before everything else. */
  readonly register: DeschedulingRegister;
  /** Gate `EvictionsInBackground`: without it a 429 is a failure and nothing is remembered, as upstream without its own. */
  readonly inBackground: boolean;
  /** Begins only if no other cycle has begun meanwhile; else with its first request. */
  readonly claimed: boolean;
  /** No request is begun later than this. */
  readonly until: Date;
}

export type NominationResult = RequestResult | LimitName | "InProgress";

export interface Answered extends Omit<Nominated, "pod"> {
  readonly pod: DeschedulerPod;
  readonly result: NominationResult;
}

export interface CycleReport {
  readonly ended: CycleEnd;
  readonly nodes: number;
  readonly pods: number;
  /** Evacuations, when the cycle ended. */
  readonly inProgress: number;
  readonly nominations: readonly Answered[];
}

/** What a plugin is to make of each result of a request. */
export const VERDICT = {
  Evicted: "Accepted",
  Background: "Accepted",
  InProgress: "Accepted",
  Gone: "Skipped",
  Refused: "Skipped",
  Unknown: "Skipped",
  PodChanged: "Skipped",
  ...VERDICT_AT_LIMIT,
} as const satisfies Record<NominationResult, Verdict>;

export function* runCycle(w: CycleWorld): Steps<CycleReport> {
  const facts = { ...w, requestTtlSeconds: w.policy.requestTtlSeconds };
  const reservations = w.inBackground ? keptReservations({ ...facts, reservations: w.register.reservations }) : [];
  const underWay = w.inBackground ? inProgressAmong({ ...facts, reservations }) : [];
  const requesting: Requesting = {
    ...w,
    counters: new Counters(w.policy.limits, underWay),
    begun: w.now.toISOString(),
    register: { ...w.register, reservations },
    outcomes: [],
    released: new Set(),
  };
  const ruling: Ruling = { inProgress: new Set(underWay.map(({ uid }) => uid)), refused: new Map(), nominations: [] };
  const ended = yield* rule(w, ruling, requesting);
  yield* settle(requesting);
  return {
    ended,
    nodes: nodesOf(w.policy, w.nodes).length,
    pods: w.pods.length,
    inProgress: requesting.counters.inProgress,
    nominations: ruling.nominations,
  };
}

/** What a cycle has found out about pods, by UID. */
interface Ruling {
  /** The plugin that nominates one of them is content. */
  readonly inProgress: Set<string>;
  /** Not asked for a second time in the same cycle. */
  readonly refused: Map<string, NominationResult>;
  readonly nominations: Answered[];
}

function* rule(w: CycleWorld, ruling: Ruling, r: Requesting): Steps<CycleEnd> {
  if (w.claimed && !(yield* claim(r))) return "AnotherCycle";
  yield* forgetConfirmed(w, ruling, r);
  const planned = nominate(w.policy, { ...w, isInProgress: ({ uid }) => ruling.inProgress.has(uid) });
  for (let next = planned.next(); next.done !== true;) {
    const result = known(next.value.pod, ruling, r) ?? (yield* request(next.value, r));
    if (isEnd(result)) return result;
    ruling.nominations.push({ ...next.value, result });
    next = planned.next(noted(next.value.pod, result, ruling));
  }
  return "Finished";
}

/** What becomes of a nomination without a request. */
function known(pod: DeschedulerPod, { inProgress, refused }: Ruling, { counters }: Requesting) {
  return inProgress.has(pod.uid) ? "InProgress" : (refused.get(pod.uid) ?? counters.limitReached(pod));
}

function noted({ uid }: DeschedulerPod, result: NominationResult, { inProgress, refused }: Ruling): Verdict {
  const verdict = VERDICT[result];
  if (verdict === "Accepted") inProgress.add(uid);
  else if (!(result in VERDICT_AT_LIMIT)) refused.set(uid, result);
  return verdict;
}

function isEnd(result: NominationResult | CycleEnd): result is CycleEnd {
  return (CYCLE_ENDS as readonly string[]).includes(result);
}

/** A confirmed request needs its time no more: when the confirmation goes, the pod is free to be requested again. */
function* forgetConfirmed({ pods }: CycleWorld, { inProgress }: Ruling, r: Requesting): Steps<void> {
  for (const pod of pods) {
    const isRequested = inProgress.has(pod.uid) && EVACUATION_REQUESTED_ANNOTATION in pod.annotations;
    if (!isRequested || !isConfirmed(pod)) continue;
    const action: Action = { verb: "AnnotatePod", pod, add: {}, remove: [EVACUATION_REQUESTED_ANNOTATION] };
    yield* perform({ step: "Act", action }, r);
  }
}
