/** One descheduling cycle, from the world that was read to a report of the requests. */
import type { EvacuationFacts } from "../../kube/evacuation.ts";
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";
import { EVACUATION_REQUESTED_ANNOTATION } from "../../kube/names.ts";
import type { Settings } from "../../settings/settings.ts";
import type { Verdict } from "../plugins/plugin.ts";
import { inProgressAmong, isConfirmed, vmiOf } from "./in-progress.ts";
import { Counters, isLimit, type LimitName, verdictAt } from "./limits.ts";
import { nominate, type Nominated, type NominationWorld, nodesOf } from "./nominations.ts";
import type { DeschedulerPolicy } from "./policy.ts";
import {
  CYCLE_ENDS,
  type CycleEnd,
  isOutOfTime,
  request,
  type Requesting,
  type RequestResult,
  type Requests,
} from "./request.ts";
import { type Withdrawal, withdrawalsOf } from "./withdrawals.ts";
import { cooldownLeft } from "../../evacuation/attempts.ts";

export interface CycleWorld extends Omit<NominationWorld, "isInProgress"> {
  readonly policy: DeschedulerPolicy;
  readonly settings: Settings;
  /** Those that have not ended. Read before everything else. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Gate `EvictionsInBackground`. Without it a 429 is a failure and nothing is remembered, as upstream without its gate. */
  readonly inBackground: boolean;
  readonly until: Date;
}

export type NominationResult = RequestResult | LimitName | "MovedRecently";

export interface Answered extends Nominated {
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

/** What a plugin receives for each result but those of limits. */
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
} as const satisfies Record<Exclude<NominationResult, LimitName>, Verdict>;

/** With what it has learnt about pods, by UID. */
interface Cycle extends CycleWorld, Requesting {
  /** Nominating one of them counts as accepted. */
  readonly requested: Set<string>;
  /** Not requested a second time in the same cycle. */
  readonly refused: Map<string, NominationResult>;
}

export async function runCycle(w: CycleWorld, requests: Requests): Promise<CycleReport> {
  const inProgress = w.inBackground ? inProgressAmong(w) : [];
  const counters = new Counters(w.policy.limits, inProgress);
  const requested = new Set(inProgress.map(({ uid }) => uid));
  const cycle: Cycle = { ...w, requests, counters, startedAt: w.now.toISOString(), requested, refused: new Map() };
  const withdrawn = w.inBackground ? await withdraw(cycle) : [];
  await forgetConfirmed(cycle);
  const nominations: Answered[] = [];
  const ended = await requestAll(cycle, nominations);
  const nodes = nodesOf(w.policy, w.nodes).length;
  return { ended, nodes, pods: w.pods.length, inProgress: counters.inProgress, nominations, withdrawn };
}

/** KubeVirt may still begin to migrate a VM whose request is withdrawn: it counts in this cycle, and is not asked for again. */
async function withdraw(c: Cycle): Promise<readonly Withdrawal[]> {
  const done: Withdrawal[] = [];
  for (const withdrawal of withdrawalsOf({ ...c, isInProgress: ({ uid }) => c.requested.has(uid) })) {
    if (isOutOfTime(c)) break;
    if ((await c.requests.withdraw(withdrawal.evacuation)) === "Done") done.push(withdrawal);
  }
  return done;
}

/** A confirmed request needs no time on the pod: without it, the pod may be requested again when the confirmation goes. */
async function forgetConfirmed({ pods, requested, requests }: Cycle): Promise<void> {
  for (const pod of pods) {
    const isRemembered = requested.has(pod.uid) && EVACUATION_REQUESTED_ANNOTATION in pod.annotations;
    if (!isRemembered || !isConfirmed(pod)) continue;
    await requests.act({ verb: "AnnotatePod", pod, add: {}, remove: [EVACUATION_REQUESTED_ANNOTATION] });
  }
}

async function requestAll(c: Cycle, answered: Answered[]): Promise<CycleEnd> {
  const nominations = nominate(c.policy, { ...c, isInProgress: ({ uid }) => c.requested.has(uid) });
  for (let next = nominations.next(); next.done !== true;) {
    const result = known(next.value.pod, c) ?? (await request(next.value, c));
    if (isEnd(result)) return result;
    answered.push({ ...next.value, result });
    next = nominations.next(noted(next.value.pod, result, c));
  }
  return "Finished";
}

/** The result of a nomination that needs no request. */
function known(pod: ScheduledPod, c: Cycle): NominationResult | undefined {
  if (c.requested.has(pod.uid)) return "InProgress";
  const vmi = vmiOf(pod, c.vmis);
  const moment = { settings: c.settings, now: c.requests.now() };
  // Before the limits: another pod may go instead.
  if (vmi !== undefined && cooldownLeft(vmi, moment) > 0) return "MovedRecently";
  return c.refused.get(pod.uid) ?? c.counters.limitReached(pod);
}

function noted({ uid }: ScheduledPod, result: NominationResult, { requested, refused }: Cycle): Verdict {
  if (isLimit(result)) return verdictAt(result);
  const verdict = VERDICT[result];
  if (verdict === "Accepted") requested.add(uid);
  else refused.set(uid, result);
  return verdict;
}

function isEnd(result: NominationResult | CycleEnd): result is CycleEnd {
  return CYCLE_ENDS.some((end) => end === result);
}
