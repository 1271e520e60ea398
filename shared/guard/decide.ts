/**
 * Decides which deletions of a VM's pods are refused, and until when. The VM can then move before the pod gets SIGTERM.
 */
import { newEvacuation } from "../evacuation/identity.ts";
import { markActions } from "../evacuation/mark.ts";
import { type Action, recordEvent } from "../kube/action.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import * as kube from "../kube/objects.ts";
import { isRequester } from "../settings/guarded.ts";
import type { Settings } from "../settings/settings.ts";
import { isToMove } from "../eviction/table.ts";
import { resolveStrategy } from "../settings/strategy.ts";
import type { Moment } from "../settings/time.ts";
import { armFor } from "../shield/shield.ts";
import {
  type DeletionTerms,
  type Disruption,
  disruptionOf,
  isTooNear,
  type KnownDisruption,
  knownDisruptions,
  mayBeHeld,
} from "./disruption-cause.ts";
import { GUARD_MESSAGES as MESSAGES } from "./messages.ts";

export interface DeletionRefusal {
  readonly verdict: "Refuse";
  /**
   * The delay in seconds before the client tries again. client-go tries again at most ten times. If this field is
   * undefined, the client does not try again.
   */
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
  /**
   * Lifeboat performs these actions before the answer, because the pod gets SIGTERM as soon as the deletion is allowed.
   */
  readonly actions: readonly Action[];
  readonly events: readonly Action[];
  /**
   * True if Lifeboat itself deletes the pod, because a ValidatingAdmissionPolicy could refuse the client's deletion.
   */
  readonly isByLifeboat?: true;
}

export type DeletionDecision = Allowal | DeletionRefusal;

export interface DeletionFacts extends Moment, DeletionTerms {
  readonly pod: PodFacts;
  readonly launcher?: PodFacts;
  readonly vmi?: VmiFacts;
  /** All Evacuations of the VMI, read at the same time as the VMI. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly node?: NodeFacts;
  /**
   * Whether a virt-handler pod is nominated for the pod's node, and the node accepts no VMs. Lifeboat then assumes that
   * every preemption on the node makes room for virt-handler.
   */
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
  // A VM cannot run in a pod that is missing from the VMI's `status.activePods`, so the pod may be deleted.
  if (!kube.isListedBy(vmi, launcher)) return allow("NotListed");
  const decision = decideForGuest(f, vmi, disruption);
  // The pod is a migration's target pod. Before the guest runs in it, its deletion needs neither actions nor Events.
  return decision.verdict === "Refuse" || vmi.guestOnTarget === true ? decision : allow(decision.reason);
}

/**
 * After the deadline, Lifeboat protects the source pod of a post-copy migration for this additional time. Until the
 * migration ends, the guest needs the memory of this pod.
 */
const POST_COPY_MS = 300_000;

function refusedUntil({ launcher, pod, now }: DeletionFacts, vmi: VmiFacts, disruption: Disruption): number {
  const { deadline } = disruption;
  if (deadline > now.getTime() && !isTooNear(disruption, vmi, now)) return deadline;
  const isLeaving = vmi.guestOnTarget === true && !kube.isMigrationTarget(launcher ?? pod, vmi);
  return isLeaving ? deadline + POST_COPY_MS : 0;
}

function decideForGuest(f: DeletionFacts, vmi: VmiFacts, disruption: Disruption): DeletionDecision {
  const { cause } = disruption;
  const { settings, now, pod } = f;
  const deletionAllowed = (why: string) => [
    recordEvent(vmi, "DeletionAllowed", MESSAGES.allowed(f, cause, why), pod.uid),
  ];
  const resolved = resolveStrategy(vmi, settings);
  if (resolved.known && resolved.strategy === "None") return allow("StrategyNone");
  if (!resolved.known)
    return allow("UnknownStrategy", deletionAllowed(MESSAGES.unknownStrategy(resolved.field, resolved.value)));
  if (!isToMove(vmi, settings)) {
    return allow("NotMigratable", deletionAllowed(MESSAGES.notMigratable(vmi)));
  }
  if (cause === "Preemption" && f.makesRoomForHandler === true) {
    return allow("HandlerNeedsRoom", deletionAllowed(MESSAGES.handlerNeedsRoom), shieldFrom(disruption, f, vmi));
  }
  const until = refusedUntil(f, vmi, disruption);
  if (until > now.getTime()) return refuse(f, vmi, { ...disruption, deadline: until });
  return allow("DeadlinePassed", deletionAllowed(tooLate(disruption, settings)), shieldFrom(disruption, f, vmi));
}

/**
 * Returns the action that sets the shield label, which delays the guest's shutdown after SIGTERM. Returns no action if
 * the node is being terminated, because the label does not help then.
 */
function shieldFrom({ cause }: Disruption, f: DeletionFacts, vmi: VmiFacts): readonly Action[] {
  const isOfGuest = f.launcher === undefined && !kube.isMigrationTarget(f.pod, vmi);
  return isOfGuest && cause !== "NodeTermination" ? armFor(vmi, f) : [];
}

function tooLate({ cause, deadline }: Disruption, { guard }: Settings): string {
  if (cause === "NodeTermination") return MESSAGES.nodeEnds(new Date(deadline).toISOString());
  return MESSAGES.deadlinePassed(guard.deadlineSeconds[cause]);
}

/** During a migration, the delay until the client tries again, in seconds. `kubectl drain` also waits 5 seconds. */
export const RETRY_SECONDS = 5;
/** The delay after the first refusal, in seconds. KubeVirt needs this time to start the migration. */
const FIRST_RETRY_SECONDS = 10;
/**
 * The delay for a VM whose migration waits in KubeVirt's queue, in seconds. client-go tries again at most ten times.
 * With this delay, client-go continues for 150 s, which is longer than the default deadline of a preemption.
 */
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
    message: MESSAGES.waits(pod, cause, vmi, until),
  } as const;
  // The deletion of a target pod does not start an evacuation, because the VM does not run on that node yet.
  const isStarted = mine !== undefined || known.some(isBackingOff) || kube.isMigrationTarget(launcher, vmi);
  if (isStarted) return { ...refusal, actions: [], events: [] };
  const { name, actions } = startDisruption(
    vmi,
    { cause, deadline, launcher, requestedBy: f.requester },
    f.evacuations,
    f,
  );
  const message = MESSAGES.refused(f, cause, vmi.nodeName, until);
  return { ...refusal, actions, events: [recordEvent(vmi, "DeletionRefused", message, name)] };
}

function isBackingOff({ evacuation }: KnownDisruption): boolean {
  return !isActive(evacuation) && evacuation.status.phase !== "Duplicate";
}

/**
 * Returns the delay until the requester's next attempt, in seconds. Long delays are safer, because an attempt that
 * Lifeboat cannot answer deletes the pod (failurePolicy `Ignore`).
 */
function retryAfterSeconds(vmi: VmiFacts, known: KnownDisruption | undefined, secondsLeft: number): number {
  const pause = known === undefined ? FIRST_RETRY_SECONDS : QUEUED_RETRY_SECONDS;
  return Math.max(1, Math.ceil(Math.min(vmi.isMigrating ? RETRY_SECONDS : pause, secondsLeft)));
}

interface Chosen extends Disruption {
  readonly launcher: PodFacts;
  readonly requestedBy: string;
}

/**
 * Starts an evacuation for the disruption. If a drain already evacuates the VM, the new Evacuation ends as a Duplicate,
 * but its deadline still applies.
 */
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
