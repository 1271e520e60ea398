/**
 * Which deletions of a VM's pods are refused for now, until when, and why not the others. Refused at admission, before SIGTERM: the guest
 * moves first, up to a deadline.
 */
import { newEvacuation } from "../evacuation/identity.ts";
import { markActions } from "../evacuation/mark.ts";
import { pinnedBecause } from "../eviction/messages.ts";
import { type Action, recordEvent } from "../kube/action.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import * as kube from "../kube/objects.ts";
import { isGateOn, isRequester } from "../settings/guarded.ts";
import type { Settings } from "../settings/settings.ts";
import { isToMove } from "../eviction/table.ts";
import { resolveStrategy } from "../settings/strategy.ts";
import type { Moment } from "../settings/time.ts";
import { armFor } from "../shield/shield.ts";
import {
  causeOf,
  type DeletionTerms,
  type Disruption,
  disruptionOf,
  isEnding,
  isMadeForVm,
  isTooNear,
  type KnownDisruption,
  knownDisruptions,
} from "./disruption-cause.ts";

export interface DeletionRefusal {
  readonly verdict: "Refuse";
  /** When the requester's own client asks again, as client-go does, ten times. Absent: it is to stop, for it spins otherwise. */
  readonly retryAfterSeconds?: number;
  readonly message: string;
  readonly actions: readonly Action[];
  readonly events: readonly Action[];
}

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
  "HandlerNeedsRoom",
] as const;

export type DeletionAllowReason = (typeof ALLOW_REASONS)[number];

interface Allowal {
  readonly verdict: "Allow";
  readonly reason: DeletionAllowReason;
  /** Done before the answer, which brings SIGTERM; all are optional. */
  readonly actions: readonly Action[];
  readonly events: readonly Action[];
  /** A policy of the API server may hold this deletion: Lifeboat deletes the pod itself, and the requester finds it ending. */
  readonly isByLifeboat?: true;
}

export type DeletionDecision = Allowal | DeletionRefusal;

export interface DeletionFacts extends Moment, DeletionTerms {
  readonly pod: PodFacts;
  readonly launcher?: PodFacts;
  readonly vmi?: VmiFacts;
  /** Every Evacuation that names the VMI, read at the same time as it. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly node?: NodeFacts;
  /** The pod for which the scheduler makes room on the node is virt-handler itself. */
  readonly makesRoomForHandler?: boolean;
}

export function allow(
  reason: DeletionAllowReason,
  events: readonly Action[] = [],
  actions: readonly Action[] = [],
): DeletionDecision {
  return { verdict: "Allow", reason, actions, events };
}

export function decideDeletion(f: DeletionFacts): DeletionDecision {
  const { pod, launcher = pod, settings } = f;
  if (!isRequester(f.requester, settings)) return allow("OtherRequester");
  const disruption = disruptionOf({ ...f, vmi: f.vmi, podUID: launcher.uid }, f, f);
  const decision = disruption === undefined ? allow("NotADisruption") : decideDisruption(f, disruption);
  return decision.verdict === "Refuse" || !mayBeHeld(f) ? decision : byLifeboat(decision, f);
}

/** From this grace period on, the policy holds the pods of a node that is about to end. */
const HELD_SECONDS = 60;

/** Whether a policy of the API server may hold the deletion, also while Lifeboat is there. */
function mayBeHeld({ pod, node, requester, graceSeconds = 0, ...m }: DeletionFacts): boolean {
  if (!isMadeForVm(pod) || pod.deleting || kube.isFinal(pod)) return false;
  const cause = causeOf(pod, requester, m);
  if (cause !== "NodeTermination") return cause === "Preemption";
  // Nothing of the pod shows who deletes it: the node has to show that it ends.
  const isShown = node === undefined || isEnding(node);
  return isGateOn(cause, m.settings) && graceSeconds >= HELD_SECONDS && isShown;
}

function byLifeboat(allowed: Allowal, { pod, graceSeconds }: DeletionFacts): DeletionDecision {
  const deletePod: Action = { verb: "DeletePod", pod, graceSeconds };
  return { ...allowed, actions: [...allowed.actions, deletePod], isByLifeboat: true };
}

function decideDisruption(f: DeletionFacts, disruption: Disruption): DeletionDecision {
  const { pod, vmi } = f;
  const unprotected = kube.unprotectedReason(pod, f.launcher, vmi);
  if (unprotected !== undefined) return allow(unprotected);
  if (vmi === undefined || vmi.deleting || kube.isFinal(vmi)) return allow("VmiGone");
  return decideForLiveVmi(f, vmi, disruption);
}

function decideForLiveVmi(f: DeletionFacts, vmi: VmiFacts, disruption: Disruption): DeletionDecision {
  const { pod, launcher = pod } = f;
  if (vmi.nodeName === undefined) return allow("NotScheduled");
  if (!kube.isAlive(f.node)) return allow("NodeNotAlive");
  if (!kube.isMigrationTarget(launcher, vmi)) return decideForGuest(f, vmi, disruption);
  // The guest may come over between the answer and the pod's end, but never to a pod that KubeVirt does not list.
  if (!kube.isListedBy(vmi, launcher)) return allow("NotListed");
  const decision = decideForGuest(f, vmi, disruption);
  // Only a guest that has come over goes with the pod.
  return decision.verdict === "Refuse" || vmi.guestOnTarget === true ? decision : allow(decision.reason);
}

/** A guest that runs on its target by post-copy needs the memory of the pod that it leaves: it would be lost moments before it has left. */
const POST_COPY_MS = 300_000;

function refusedUntil({ launcher, pod, now }: DeletionFacts, vmi: VmiFacts, disruption: Disruption): number {
  const { deadline } = disruption;
  if (deadline > now.getTime() && !isTooNear(disruption, vmi, now)) return deadline;
  const isLeaving = vmi.guestOnTarget === true && !kube.isMigrationTarget(launcher ?? pod, vmi);
  return isLeaving ? deadline + POST_COPY_MS : 0;
}

function decideForGuest(f: DeletionFacts, vmi: VmiFacts, disruption: Disruption): DeletionDecision {
  const { cause } = disruption;
  const { settings, now, requester, pod } = f;
  const deletionAllowed = (why: string) => {
    const message = `pod ${pod.name} is deleted by ${requester} (cause ${cause}) and the VM with it: ${why}`;
    return [recordEvent(vmi, "DeletionAllowed", message, pod.uid)];
  };
  const resolved = resolveStrategy(vmi, settings);
  if (resolved.known && resolved.strategy === "None") return allow("StrategyNone");
  if (!resolved.known)
    return allow("UnknownStrategy", deletionAllowed(`KubeVirt does not know ${resolved.field} "${resolved.value}"`));
  if (!isToMove(vmi, settings)) {
    return allow("NotMigratable", deletionAllowed(`it is not live-migratable: ${pinnedBecause(vmi)}`));
  }
  if (cause === "Preemption" && f.makesRoomForHandler === true) {
    const why = "virt-handler waits for its memory, and without virt-handler the VM cannot move";
    return allow("HandlerNeedsRoom", deletionAllowed(why), shieldFrom(disruption, f, vmi));
  }
  const until = refusedUntil(f, vmi, disruption);
  if (until > now.getTime()) return refuse(f, vmi, { ...disruption, deadline: until });
  return allow("DeadlinePassed", deletionAllowed(tooLate(disruption, settings)), shieldFrom(disruption, f, vmi));
}

/** From the SIGTERM that the deletion brings the guest. At the end of a node the machine goes. */
function shieldFrom({ cause }: Disruption, f: DeletionFacts, vmi: VmiFacts): readonly Action[] {
  const isOfGuest = f.launcher === undefined && !kube.isMigrationTarget(f.pod, vmi);
  return isOfGuest && cause !== "NodeTermination" ? armFor(vmi, f) : [];
}

function tooLate({ cause, deadline }: Disruption, { guard }: Settings): string {
  if (cause === "NodeTermination") return `it has not moved, and its node ends at ${new Date(deadline).toISOString()}`;
  return `it has not moved within ${guard.deadlineSeconds[cause]} s`;
}

/** While the migration runs, and where nothing is known or there is no room for a review: as often as a drain repeats its evictions. */
export const RETRY_SECONDS = 5;
/** After the first refusal: KubeVirt needs seconds to begin, and a guest some more. */
const FIRST_RETRY_SECONDS = 10;
/** The delay for a VM that waits in KubeVirt's queue. Eleven requests then cover a preemption's deadline, in one round of the scheduler. */
const QUEUED_RETRY_SECONDS = 15;

export function refuse(f: DeletionFacts, vmi: VmiFacts, disruption: Disruption): DeletionRefusal {
  const { pod, launcher = pod } = f;
  const { cause, deadline } = disruption;
  const known = knownDisruptions({ ...f, vmi, podUID: launcher.uid }, f.now);
  const mine = known.find((one) => one.cause === cause);
  const until = new Date(deadline).toISOString();
  const refusal = {
    verdict: "Refuse",
    retryAfterSeconds: retryAfterSeconds(vmi, mine, (deadline - f.now.getTime()) / 1000),
    message:
      `deletion of pod "${pod.name}" (cause ${cause}) waits until VMI "${vmi.namespace}/${vmi.name}" has moved, ` +
      `until ${until} at the longest`,
  } as const;
  // The target of a migration: its VM is not on that node yet, and a later deletion marks it once it is.
  const isStarted = mine !== undefined || known.some(isBackingOff) || kube.isMigrationTarget(launcher, vmi);
  if (isStarted) return { ...refusal, actions: [], events: [] };
  const { name, actions } = startDisruption(
    vmi,
    { cause, deadline, launcher, requestedBy: f.requester },
    f.evacuations,
    f,
  );
  const message =
    `${f.requester} deletes pod ${pod.name} (cause ${cause}): refused until the VM has left node ${vmi.nodeName}, ` +
    `until ${until} at the longest`;
  return { ...refusal, actions, events: [recordEvent(vmi, "DeletionRefused", message, name)] };
}

/** It has just ended without a move: no new one begins before its back-off is over. */
function isBackingOff({ evacuation }: KnownDisruption): boolean {
  return !isActive(evacuation) && evacuation.status.phase !== "Duplicate";
}

/** At each retry Lifeboat has to answer, or the webhook's failurePolicy `Ignore` allows it: so as few as serve. */
function retryAfterSeconds(vmi: VmiFacts, known: KnownDisruption | undefined, secondsLeft: number): number {
  const pause = known === undefined ? FIRST_RETRY_SECONDS : QUEUED_RETRY_SECONDS;
  return Math.max(1, Math.ceil(Math.min(vmi.isMigrating ? RETRY_SECONDS : pause, secondsLeft)));
}

interface Chosen extends Disruption {
  readonly launcher: PodFacts;
  readonly requestedBy: string;
}

/** An evacuation that a drain began before continues: the new one ends as its Duplicate, and its deadline counts. */
export function startDisruption(
  vmi: VmiFacts,
  { cause, requestedBy, launcher, deadline }: Chosen,
  evacuations: readonly EvacuationFacts[],
  { settings, now }: Moment,
) {
  const pod = { name: launcher.name, uid: launcher.uid };
  const origin = { cause, requestedBy, pod, deadline: new Date(deadline).toISOString() };
  const evacuation = newEvacuation(vmi, origin, { evacuations, now });
  const create: Action = { verb: "CreateEvacuation", evacuation, optional: true };
  return { name: evacuation.name, actions: [create, ...markActions(vmi, cause, settings, launcher)] };
}
