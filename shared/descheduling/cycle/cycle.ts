/**
 * One descheduling cycle, from the world that was read to a report of the requests.
 *
 * A generator: deschedule.ts performs each step, and its result decides on the next one. So a test can interrupt a cycle between any two
 * steps.
 */
import type { Action } from "../../policy/action.ts";
import type { EvacuationFacts } from "../../policy/facts.ts";
import { EVACUATION_REQUESTED_ANNOTATION } from "../../policy/names.ts";
import type { DeschedulerPolicy } from "./policy.ts";
import type { DeschedulerPod } from "../plugins/facts.ts";
import { cooldownLeft } from "../../policy/evacuation/cooldown.ts";
import type { Settings } from "../../policy/settings.ts";
import { inProgressAmong, isConfirmed, vmiOf } from "./in-progress.ts";
import { Counters, type LimitName, VERDICT_AT_LIMIT } from "./limits.ts";
import { nominate, type Nominated, type NominationWorld, nodesOf } from "./nominations.ts";
import type { Verdict } from "../plugins/plugin.ts";
import {
  CYCLE_ENDS,
  type CycleEnd,
  perform,
  request,
  type Requesting,
  type RequestResult,
  type Steps,
} from "./request.ts";
import { type Withdrawal, withdrawalsOf } from "./withdrawals.ts";

export interface CycleWorld extends Omit<NominationWorld, "isInProgress"> {
  readonly policy: DeschedulerPolicy;
  readonly settings: Settings;
  /** Those that have not ended. Read before everything else. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Gate `EvictionsInBackground`. Without it a 429 is a failure and nothing is remembered, as upstream without its gate. */
  readonly inBackground: boolean;
  /** No request is begun later than this. */
  readonly until: Date;
}

export type NominationResult = RequestResult | LimitName | "MovedRecently";

export interface Answered extends Omit<Nominated, "pod"> {
  readonly pod: DeschedulerPod;
  readonly result: NominationResult;
}

export interface CycleReport {
  readonly ended: CycleEnd;
  readonly nodes: number;
  readonly pods: number;
  /** Evacuations in progress when the cycle ended; one that was withdrawn is, until it has ended. */
  readonly inProgress: number;
  readonly nominations: readonly Answered[];
  readonly withdrawn: readonly Withdrawal[];
}

/** Another one runs. */
export const NO_CYCLE: CycleReport = {
  ended: "AnotherCycle",
  nodes: 0,
  pods: 0,
  inProgress: 0,
  nominations: [],
  withdrawn: [],
};

/** What a plugin is told for each result. */
export const VERDICT = {
  Evicted: "Accepted",
  Background: "Accepted",
  InProgress: "Accepted",
  Gone: "Skipped",
  Refused: "Skipped",
  Unknown: "Skipped",
  PodChanged: "Skipped",
  BackingOff: "Skipped",
  MovedRecently: "Skipped",
  ...VERDICT_AT_LIMIT,
} as const satisfies Record<NominationResult, Verdict>;

export function* runCycle(w: CycleWorld): Steps<CycleReport> {
  const facts = { ...w, requestTtlSeconds: w.policy.requestTtlSeconds };
  const underWay = w.inBackground ? inProgressAmong(facts) : [];
  const requesting: Requesting = {
    ...w,
    counters: new Counters(w.policy.limits, underWay),
    begun: w.now.toISOString(),
  };
  const ruling: Ruling = { inProgress: new Set(underWay.map(({ uid }) => uid)), refused: new Map(), nominations: [] };
  const withdrawn = w.inBackground ? yield* withdraw(w, ruling, requesting) : [];
  const ended = yield* rule(w, ruling, requesting);
  return {
    ended,
    nodes: nodesOf(w.policy, w.nodes).length,
    pods: w.pods.length,
    inProgress: requesting.counters.inProgress,
    nominations: ruling.nominations,
    withdrawn,
  };
}

/** What a cycle has learnt about pods, by UID. */
interface Ruling {
  /** Nominating one of them counts as accepted. */
  readonly inProgress: Set<string>;
  /** Not requested a second time in the same cycle. */
  readonly refused: Map<string, NominationResult>;
  readonly nominations: Answered[];
}

/** KubeVirt may still begin to migrate a VM whose request is withdrawn: it counts in this cycle, and is not asked for again. */
function* withdraw(w: CycleWorld, { inProgress }: Ruling, r: Requesting): Steps<readonly Withdrawal[]> {
  const done: Withdrawal[] = [];
  for (const withdrawal of withdrawalsOf({ ...w, isInProgress: ({ uid }) => inProgress.has(uid) })) {
    if (r.now > r.until) break;
    const outcome = yield* perform({ step: "Withdraw", evacuation: withdrawal.evacuation }, r);
    if (outcome === "Done") done.push(withdrawal);
  }
  return done;
}

function* rule(w: CycleWorld, ruling: Ruling, r: Requesting): Steps<CycleEnd> {
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

/** The result of a nomination that needs no request. */
function known(pod: DeschedulerPod, { inProgress, refused }: Ruling, r: Requesting): NominationResult | undefined {
  if (inProgress.has(pod.uid)) return "InProgress";
  const vmi = vmiOf(pod, r.vmis);
  // Before the limits: another pod may go instead.
  if (vmi !== undefined && cooldownLeft(vmi, r) > 0) return "MovedRecently";
  return refused.get(pod.uid) ?? r.counters.limitReached(pod);
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

/** A confirmed request needs no time on the pod: without it, the pod may be requested again when the confirmation goes. */
function* forgetConfirmed({ pods }: CycleWorld, { inProgress }: Ruling, r: Requesting): Steps<void> {
  for (const pod of pods) {
    const isRequested = inProgress.has(pod.uid) && EVACUATION_REQUESTED_ANNOTATION in pod.annotations;
    if (!isRequested || !isConfirmed(pod)) continue;
    const action: Action = { verb: "AnnotatePod", pod, add: {}, remove: [EVACUATION_REQUESTED_ANNOTATION] };
    yield* perform({ step: "Act", action }, r);
  }
}
