/** Runs a descheduling cycle: asks the plugins for pods, requests evictions, and returns a report. */
import type { EvacuationFacts } from "../../kube/evacuation.ts";
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";
import { DESCHEDULING } from "../../kube/names.ts";
import { secondsSince } from "../../settings/time.ts";
import type { Settings } from "../../settings/settings.ts";
import type { Verdict } from "../plugins/plugin.ts";
import { inProgressAmong, vmiOf } from "./in-progress.ts";
import { Counters, isLimit, type LimitName, verdictAt } from "./limits.ts";
import { type Memory, type Noted, recall } from "./memory.ts";
import { nominate, type Nominated, type NominationWorld, nodesSelected } from "./nominations.ts";
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
import { isTrouble } from "../../evacuation/not-started.ts";
import { cooldownLeft } from "../../evacuation/cooldown.ts";

export interface CycleWorld extends Omit<NominationWorld, "isInProgress"> {
  readonly policy: DeschedulerPolicy;
  readonly settings: Settings;
  /** Active Evacuations. They are read before all other facts. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly until: Date;
  readonly memory: Memory;
}

export type NominationResult = RequestResult | LimitName | "MovedRecently";

export interface Answered extends Nominated {
  readonly result: NominationResult;
}

export interface CycleReport {
  readonly ended: CycleEnd;
  readonly nodes: number;
  readonly pods: number;
  readonly inProgress: number;
  readonly nominations: readonly Answered[];
  readonly withdrawn: readonly EvacuationFacts[];
  readonly memory: Memory;
}

export const NO_CYCLE: CycleReport = {
  ended: "AnotherCycle",
  nodes: 0,
  pods: 0,
  inProgress: 0,
  nominations: [],
  withdrawn: [],
  memory: new Map(),
};

/** The verdict that a plugin receives for each result. The verdicts for limits are in limits.ts. */
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

interface Cycle extends Omit<CycleWorld, "memory">, Requesting {
  readonly requested: Set<string>;
  /** The results of refused evictions, keyed by the UID of the pod. */
  readonly refused: Map<string, NominationResult>;
}

export async function runCycle(w: CycleWorld, requests: Requests): Promise<CycleReport> {
  const leaving = inProgressAmong(w);
  const isLeaving = new Set(leaving);
  const recalled = recall(w.memory, {
    pods: w.pods.filter((pod) => !isLeaving.has(pod)),
    now: w.now,
    ttlSeconds: w.policy.requestTtlSeconds,
  });
  const inProgress = [...leaving, ...recalled.inProgress];
  const memory = new Map<string, Noted>(recalled.memory);
  const counters = new Counters(w.policy.limits, inProgress);
  const requested = new Set(inProgress.map(({ uid }) => uid));
  const startedAt = w.now.toISOString();
  const cycle: Cycle = { ...w, requests, counters, startedAt, requested, refused: new Map(), memory };
  const withdrawn = await withdrawExpired(cycle);
  const nominations: Answered[] = [];
  const ended = await requestAll(cycle, nominations);
  const nodes = nodesSelected(w.policy, w.nodes).length;
  return { ended, nodes, pods: w.pods.length, inProgress: counters.inProgress, nominations, withdrawn, memory };
}

/**
 * Cancels evacuations that have waited too long for a migration. KubeVirt might still migrate their VMs, so the limits
 * of this cycle still count these VMs.
 */
async function withdrawExpired(c: Cycle): Promise<readonly EvacuationFacts[]> {
  const withdrawn: EvacuationFacts[] = [];
  for (const evacuation of c.evacuations.filter((one) => isWaiting(one) && isExpired(one, c))) {
    if (isOutOfTime(c)) break;
    if ((await c.requests.withdraw(evacuation)) === "Done") withdrawn.push(evacuation);
  }
  return withdrawn;
}

/** Returns true if Lifeboat's descheduling requested the Evacuation and its migration has not started. */
function isWaiting({ spec: { cause, intent, requestedBy }, status: { phase, reason } }: EvacuationFacts): boolean {
  const isOwn = cause === "Descheduler" && intent === "Evacuate" && requestedBy.startsWith(`${DESCHEDULING}: `);
  return isOwn && (phase !== "Migrating" || reason === "Queued" || isTrouble(reason));
}

function isExpired({ createdAt }: EvacuationFacts, { policy, now }: Cycle): boolean {
  return secondsSince(createdAt, now) > policy.requestTtlSeconds;
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

function known(pod: ScheduledPod, c: Cycle): NominationResult | undefined {
  if (c.requested.has(pod.uid)) return "InProgress";
  const vmi = vmiOf(pod, c.vmis);
  const moment = { settings: c.settings, now: c.requests.now() };
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
