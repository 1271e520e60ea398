/** Requests an evacuation or eviction. If the process stops, no request is lost or repeated. */
import { type Action, type EventReason, recordPodEvent } from "../../kube/action.ts";
import { saysUndecided } from "../../settings/failure-posture.ts";
import { activeEvacuation, backingOffEvacuation, newEvacuation } from "../../evacuation/identity.ts";
import { addRequester } from "../../evacuation/requesters.ts";
import { isToMove } from "../../eviction/table.ts";
import { isLive } from "../../settings/strategy.ts";
import type { VmiFacts } from "../../kube/facts.ts";
import type { EvacuationFacts } from "../../kube/evacuation.ts";
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";
import { DESCHEDULING } from "../../kube/names.ts";
import type { Settings } from "../../settings/settings.ts";
import { vmiOf, type Vmis } from "./in-progress.ts";
import type { Counters } from "./limits.ts";
import { isOnlyRequested, notedRequest, type Noted } from "./memory.ts";
import type { Nominated } from "./nominations.ts";
import type { DeschedulerPolicy } from "./policy.ts";
import { isListedBy } from "../../kube/objects.ts";
import { DESCHEDULING_MESSAGES as MESSAGES } from "../messages.ts";

/**
 * The result of an eviction. `Evicted`: the pod is being deleted. `Background`: the pod is being evacuated, or another
 * party evicts it later. `Gone`: the pod does not exist. `Refused`: the eviction was refused. `Unknown`: it is unknown
 * whether the eviction had an effect.
 */
export const EVICTION_OUTCOMES = ["Background", "Evicted", "Gone", "Refused", "Unknown"] as const;
export type EvictionOutcome = (typeof EVICTION_OUTCOMES)[number];

/** KubeVirt and Lifeboat add this text before the message of each repeated eviction of a VM. */
const REPEATED = /^Evacuation in progress: /;
/** The API server adds this text before a webhook's message. */
const DENIED_BY_WEBHOOK = /^admission webhook "[^"]*" denied the request: /;

/**
 * Interprets the answer to an eviction. `prefixes` are the starts of messages that announce a later eviction. The list
 * is empty for a pod that is not a launcher pod and has no request-evict-only annotation.
 */
export function interpretAnswer(
  answer: { readonly code: number; readonly message: string },
  prefixes: readonly string[],
): EvictionOutcome {
  const { code, message } = answer;
  if (code < 300) return "Evicted";
  if (code === 404) return "Gone";
  if (code !== 429) return "Refused";
  const said = message.replace(DENIED_BY_WEBHOOK, "");
  const words = said.replace(REPEATED, "");
  if (prefixes.some((prefix) => words.startsWith(prefix) || said.startsWith(prefix))) return "Background";
  return saysUndecided(said) ? "Unknown" : "Refused";
}

/** The result of an action. `Failed`: it is unknown whether the action was performed. */
export type ActOutcome = "Done" | "Conflict" | "Refused" | "Failed";

/** The requests of a cycle. None of these functions throws a ClusterError. */
export interface Requests {
  act(action: Action): Promise<ActOutcome>;
  withdraw(evacuation: EvacuationFacts): Promise<ActOutcome>;
  /** Returns the VMI's Evacuations, including ended ones. Returns undefined if they could not be read. */
  evacuationsOf(vmi: VmiFacts): Promise<readonly EvacuationFacts[] | undefined>;
  evict(nominated: Nominated): Promise<EvictionOutcome>;
  now(): Date;
}

/**
 * `PodChanged`: the pod has changed, another isolate has requested its evacuation, or the API server refused the new
 * Evacuation. `BackingOff`: the VM's last evacuation ended recently without a move. `InProgress`: another evacuation of
 * the VM has started.
 */
export type RequestResult = EvictionOutcome | "PodChanged" | "BackingOff" | "InProgress";

/** Why a cycle ended. `AnotherCycle`: another isolate is running a cycle. */
export const CYCLE_ENDS = ["Finished", "AnotherCycle", "ClusterUnavailable", "OutOfTime"] as const;
export type CycleEnd = (typeof CYCLE_ENDS)[number];

export interface Requesting {
  readonly requests: Requests;
  readonly policy: DeschedulerPolicy;
  readonly settings: Settings;
  readonly vmis: Vmis;
  readonly counters: Counters;
  readonly memory: Map<string, Noted>;
  /** The start of the cycle (RFC 3339). */
  readonly startedAt: string;
  /** The cycle sends no request after this time. */
  readonly until: Date;
}

export function isOutOfTime({ requests, until }: Requesting): boolean {
  return requests.now() > until;
}

export async function request(nominated: Nominated, r: Requesting): Promise<RequestResult | CycleEnd> {
  if (isOutOfTime(r)) return "OutOfTime";
  const result = await requestInItsForm(nominated, r);
  if (result === "InProgress") r.counters.requested(nominated.pod);
  if (isOutcome(result)) await note(nominated, result, r);
  return result;
}

async function requestInItsForm(nominated: Nominated, r: Requesting): Promise<RequestResult | CycleEnd> {
  const { pod } = nominated;
  const vmi = vmiOf(pod, r.vmis);
  const isEvacuable = vmi !== undefined && isLive(vmi) && isListedBy(vmi, pod) && isToMove(vmi, r.settings);
  return isEvacuable ? await evacuate(nominated, vmi, r) : await evict(nominated, r);
}

async function evict(nominated: Nominated, r: Requesting): Promise<EvictionOutcome> {
  const { pod } = nominated;
  const outcome = await r.requests.evict(nominated);
  if (outcome === "Background" && isOnlyRequested(pod)) r.memory.set(pod.uid, notedRequest(pod, r.requests.now()));
  return outcome;
}

function requesterOf({ profile, plugin }: Nominated): string {
  return `${DESCHEDULING}: ${profile}/${plugin}`;
}

/** Requests an evacuation. Reads the VM's Evacuations first, because another evacuation might have started recently. */
async function evacuate(nominated: Nominated, vmi: VmiFacts, r: Requesting): Promise<RequestResult | CycleEnd> {
  const { name, uid } = nominated.pod;
  const evacuations = await r.requests.evacuationsOf(vmi);
  if (evacuations === undefined) return "ClusterUnavailable";
  const now = r.requests.now();
  const joined = activeEvacuation(vmi, evacuations, uid);
  if (joined !== undefined) {
    for (const action of addRequester(joined, requesterOf(nominated))) await r.requests.act(action);
    return "InProgress";
  }
  if (backingOffEvacuation(vmi, evacuations, { now, podUID: uid }) !== undefined) return "BackingOff";
  if (isOutOfTime(r)) return "OutOfTime";
  const origin = { cause: "Descheduler", requestedBy: requesterOf(nominated), pod: { name, uid } } as const;
  const evacuation = newEvacuation(vmi, origin, { evacuations, now });
  return RESULT_OF_CREATION[await r.requests.act({ verb: "CreateEvacuation", evacuation })];
}

const RESULT_OF_CREATION = {
  Done: "Background",
  Conflict: "PodChanged",
  Refused: "PodChanged",
  Failed: "Unknown",
} as const satisfies Record<ActOutcome, RequestResult>;

/** The Event for each result. Failed requests have an Event only if the policy's `notifyFailures` is true. */
const EVENTS = {
  Evicted: { reason: "Descheduled", words: MESSAGES.evicted },
  Background: { reason: "Descheduled", words: MESSAGES.evacuated },
  Refused: { reason: "EvictionFailed", words: MESSAGES.refused },
  Unknown: { reason: "EvictionFailed", words: MESSAGES.unanswered },
  Gone: undefined,
} as const satisfies Record<EvictionOutcome, { reason: EventReason; words: string } | undefined>;

function isOutcome(result: RequestResult | CycleEnd): result is EvictionOutcome {
  return result in EVENTS;
}

async function note(nominated: Nominated, outcome: EvictionOutcome, r: Requesting): Promise<void> {
  const { pod } = nominated;
  count(pod, outcome, r);
  const event = EVENTS[outcome];
  if (event === undefined || (event.reason === "EvictionFailed" && !r.policy.notifyFailures)) return;
  const message = MESSAGES.nominated(event.words, pod.nodeName, nominated);
  await r.requests.act(recordPodEvent(pod, event.reason, message, r.startedAt));
}

/** Counts a request. A request with an unknown outcome counts too, because it might have started an evacuation. */
function count(pod: ScheduledPod, outcome: EvictionOutcome, { counters }: Requesting): void {
  if (outcome === "Background" || outcome === "Unknown") counters.requested(pod);
  if (outcome === "Evicted") counters.evicted(pod);
}
