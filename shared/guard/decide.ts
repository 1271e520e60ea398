/**
 * Deletion policy: which deletions of a VM's pods are refused for now, until when, and why not the others.
 *
 * The scheduler, the taint manager and what ends a node delete without asking. Refused at admission, before the pod has a
 * deletionTimestamp, there is no race with SIGTERM: the guest moves first, up to a deadline. Every retry is decided anew, and the last one
 * is allowed for one of the reasons here.
 */
import { type Action, recordEvent } from "../kube/action.ts";
import { isToMove, resolveStrategy } from "../settings/strategy.ts";
import { type DeletionTerms, type Disruption, disruptionOf, isTooNear } from "./disruption-cause.ts";
import { endsNodes, isRequester, mayBeRefused } from "../settings/guarded.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { pinnedBecause } from "../eviction/messages.ts";
import { type Refusal, refuse, type RefusalFacts, RETRY_SECONDS } from "./refuse.ts";
import { armFor } from "../shield/shield.ts";
import type { Settings } from "../settings/settings.ts";
import type { Moment } from "../settings/time.ts";
import {
  drivingTaint,
  isAlive,
  isFinal,
  isListedBy,
  isMigrationTarget,
  isOfLiveVm,
  unprotectedReason,
} from "../kube/objects.ts";

export const ALLOW_REASONS = [
  "OtherRequester",
  "NotADisruption",
  "PodCompleted",
  "NotAVirtualMachine",
  "VmiGone",
  "NotScheduled",
  "NodeNotAlive",
  "NotListed",
  "StrategyNone",
  "NotMigratable",
  "UnknownStrategy",
  "DeadlinePassed",
  "Undecided",
] as const;

export type AllowReason = (typeof ALLOW_REASONS)[number];

export type DeletionDecision =
  | {
      readonly verdict: "Allow";
      readonly reason: AllowReason;
      /** Done before the answer, which brings SIGTERM; all are optional. */
      readonly actions: readonly Action[];
      readonly events: readonly Action[];
    }
  | Refusal;

export interface DeletionFacts extends RefusalFacts {
  readonly vmi?: VmiFacts;
  readonly node?: NodeFacts;
}

export function allow(
  reason: AllowReason,
  events: readonly Action[] = [],
  actions: readonly Action[] = [],
): DeletionDecision {
  return { verdict: "Allow", reason, actions, events };
}

export function decideDeletion(f: DeletionFacts): DeletionDecision {
  const { pod, launcher = pod, vmi, settings } = f;
  if (!isRequester(f.requester, settings)) return allow("OtherRequester");
  const disruption = disruptionOf(pod, { ...f, vmi, podUID: launcher.uid }, f, f);
  if (disruption === undefined) return allow("NotADisruption");
  const unprotected = unprotectedReason(pod, f.launcher, vmi);
  if (unprotected !== undefined) return allow(unprotected);
  if (vmi === undefined || vmi.deleting || isFinal(vmi)) return allow("VmiGone");
  return decideForLiveVmi(f, vmi, disruption);
}

function decideForLiveVmi(f: DeletionFacts, vmi: VmiFacts, disruption: Disruption): DeletionDecision {
  const { pod, launcher = pod } = f;
  if (vmi.nodeName === undefined) return allow("NotScheduled");
  if (!isAlive(f.node)) return allow("NodeNotAlive");
  if (!isMigrationTarget(launcher, vmi)) return decideForGuest(f, vmi, disruption);
  // The guest may come over between the answer and the pod's end, but never to a pod that KubeVirt does not list.
  if (!isListedBy(vmi, launcher)) return allow("NotListed");
  const decision = decideForGuest(f, vmi, disruption);
  // Only a guest that has come over goes with the pod.
  return decision.verdict === "Refuse" || vmi.guestOnTarget === true ? decision : allow(decision.reason);
}

function decideForGuest(f: DeletionFacts, vmi: VmiFacts, disruption: Disruption): DeletionDecision {
  const { cause, deadline } = disruption;
  const { settings, now, requester, pod } = f;
  const tellWhy = (why: string) => {
    const message = `pod ${pod.name} is deleted by ${requester} (cause ${cause}) and the VM with it: ${why}`;
    return [recordEvent(vmi, "DeletionAllowed", message, pod.uid)];
  };
  const resolved = resolveStrategy(vmi, settings);
  if (resolved.known && resolved.strategy === "None") return allow("StrategyNone");
  if (cause === "NoExecuteTaint" && drivingTaint(f.node, pod) === undefined) return stay(pod);
  if (!resolved.known)
    return allow("UnknownStrategy", tellWhy(`KubeVirt does not know ${resolved.field} "${resolved.value}"`));
  if (!isToMove(vmi, settings)) {
    return allow("NotMigratable", tellWhy(`it is not live-migratable: ${pinnedBecause(vmi)}`));
  }
  if (deadline > now.getTime() && !isTooNear(disruption, vmi, now)) return refuse(f, vmi, disruption);
  return allow("DeadlinePassed", tellWhy(tooLate(disruption, settings)), shieldFrom(disruption, f, vmi));
}

/** From the SIGTERM that the deletion brings the guest. At the end of a node the machine goes, whatever its guests do. */
function shieldFrom({ cause }: Disruption, f: DeletionFacts, vmi: VmiFacts): readonly Action[] {
  const isOfGuest = f.launcher === undefined && !isMigrationTarget(f.pod, vmi);
  return isOfGuest && cause !== "NodeTermination" ? armFor(vmi, f) : [];
}

function tooLate({ cause, deadline }: Disruption, { guard }: Settings): string {
  if (cause === "NodeTermination") return `it has not moved, and its node ends at ${new Date(deadline).toISOString()}`;
  return `it has not moved within ${guard.deadlineSeconds[cause]} s`;
}

/** The taint manager keeps trying although the taint is gone: it is to stop. The next reconcile ends the evacuation. */
function stay({ name, nodeName }: PodFacts): DeletionDecision {
  const message = `pod "${name}" stays: node "${nodeName}" carries no NoExecute taint any more that it does not tolerate`;
  return { verdict: "Refuse", message, actions: [], events: [] };
}

/**
 * What a deletion gets while the API server does not answer: the only fact is the pod as it came with the request. Refused
 * until the deadline that it shows. Never with a 5xx: the webhook's failurePolicy `Ignore` would let the pod go.
 */
export function decideUndecided(
  { pod, ...terms }: Pick<DeletionFacts, "pod" | "requester" | "deleteBy">,
  message: string,
  { settings, now }: Moment,
): DeletionDecision {
  const left = secondsLeft(pod, terms, { settings, now });
  if (left <= 0) return allow("Undecided");
  const retryAfterSeconds = Math.min(RETRY_SECONDS, Math.ceil(left));
  return { verdict: "Refuse", retryAfterSeconds, message, actions: [], events: [] };
}

/** Until the deadline that the request shows; 0: it shows none, and a preemptor must not wait for ever. */
function secondsLeft(pod: PodFacts, terms: DeletionTerms, { settings, now }: Moment): number {
  if (!mayBeRefused(terms.requester, settings) || !isOfLiveVm(pod) || !showsTime(pod, terms, settings)) return 0;
  const subject = { vmi: undefined, evacuations: [], podUID: pod.uid };
  const disruption = disruptionOf(pod, subject, terms, { settings, now });
  return disruption === undefined ? 0 : (disruption.deadline - now.getTime()) / 1000;
}

function showsTime(
  { disruptionTarget }: PodFacts,
  { requester, deleteBy }: DeletionTerms,
  settings: Settings,
): boolean {
  if (endsNodes(requester, settings)) return deleteBy !== undefined;
  return !Number.isNaN(Date.parse(disruptionTarget?.since ?? ""));
}
