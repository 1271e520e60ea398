/**
 * Finds the disruption that deletes a pod, and the time until which Lifeboat refuses the deletion. The disruption is in
 * the pod's `DisruptionTarget` condition, or the requester terminates nodes as Karpenter does.
 */
import { byAge, isAbout } from "../evacuation/identity.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { isFinal } from "../kube/objects.ts";
import { LATEST_SECONDS } from "../evacuation/world.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { Moment } from "../settings/time.ts";
import { COMPONENT_LABEL, HOTPLUG_COMPONENT, LAUNCHER_COMPONENT } from "../kube/names.ts";
import { endsNodes, GUARD_CAUSES, type GuardCause, GUARDED, isGateOn, isReviewed } from "../settings/guarded.ts";

export interface Disruption {
  readonly cause: GuardCause;
  readonly deadline: number;
}

export interface KnownDisruption extends Disruption {
  readonly evacuation: EvacuationFacts;
}

/**
 * Returns the disruption in the pod's DisruptionTarget condition if the condition is True. If the condition's time is
 * in the future, Lifeboat counts the deadline from now.
 */
export function conditionedDisruption({ disruptionTarget }: PodFacts, m: Moment): Disruption | undefined {
  const { active = false, reason = "", since = "" } = disruptionTarget ?? {};
  const cause = GUARD_CAUSES.find((one) => GUARDED[one].reason === reason);
  if (!active || cause === undefined) return undefined;
  const [began, now] = [Date.parse(since), m.now.getTime()];
  return { cause, deadline: (began <= now ? began : now) + m.settings.guard.deadlineSeconds[cause] * 1000 };
}

export interface DisruptionSubject {
  /** The pod to delete, which is the VM's launcher or another pod of the VM. */
  readonly pod: PodFacts;
  readonly vmi: VmiFacts | undefined;
  readonly evacuations: readonly EvacuationFacts[];
  /** The UID of the launcher pod. */
  readonly podUID: string;
}

type Terms = DeletionTerms & { readonly node?: NodeFacts };

/**
 * Lists the disruptions that are recorded in the pod's Evacuations, oldest first. A disruption is listed until its
 * Evacuation has ended and the back-off is over. If the Evacuation ended as a Duplicate of an older Evacuation, the
 * older Evacuation determines how long the disruption is listed.
 */
export function knownDisruptions(
  { pod, vmi, evacuations, podUID }: DisruptionSubject,
  now: Date,
): readonly KnownDisruption[] {
  const about = vmi === undefined ? [] : evacuations.filter((e) => isAbout(e, vmi, podUID));
  const inForce = about.filter((e) => isActive(e) || Date.parse(e.status.nextAttemptTime ?? "") > now.getTime());
  const isInForce = (e: EvacuationFacts) => {
    return inForce.includes(e) || (e.status.phase === "Duplicate" && inForce.some((first) => byAge(first, e) < 0));
  };
  return about
    .filter(isInForce)
    .toSorted(byAge)
    .flatMap((evacuation) => disruptionIn(evacuation) ?? [])
    .filter((one) => !isOver(one, pod, now));
}

/**
 * Returns whether a recorded disruption is over: the scheduler did not delete the preempted pod in time, or a later
 * disruption is deleting the pod.
 */
function isOver({ cause, deadline, evacuation }: KnownDisruption, pod: PodFacts, now: Date): boolean {
  if (!isActive(evacuation) && evacuation.status.phase !== "Duplicate") return false;
  const { disruptionTarget, deleting } = pod;
  const over = deadline + LATEST_SECONDS * 1000;
  // While a preempted pod is terminating, which can take long, the preemption is not over.
  if (cause === "Preemption" && !deleting) return over <= now.getTime();
  if (cause === "NodeTermination" || disruptionTarget?.active !== true) return false;
  return over < Math.min(Date.parse(disruptionTarget.since), now.getTime());
}

function disruptionIn(evacuation: EvacuationFacts): KnownDisruption | undefined {
  const { cause, deadline = "" } = evacuation.spec;
  const time = Date.parse(deadline);
  const guarded = GUARD_CAUSES.find((one) => one === cause);
  return guarded === undefined || Number.isNaN(time) ? undefined : { cause: guarded, deadline: time, evacuation };
}

/**
 * Returns the cause of the deletion. The cause is NodeTermination if the requester terminates nodes. Otherwise the
 * pod's condition contains the cause. Does not check whether Lifeboat refuses deletions with this cause.
 */
export function causeOf(pod: PodFacts, requester: string, m: Moment): GuardCause | undefined {
  return endsNodes(requester, m.settings) ? "NodeTermination" : conditionedDisruption(pod, m)?.cause;
}

/**
 * Returns the disruption that causes the deletion, with its own deadline or an earlier recorded deadline. Returns
 * undefined if there is no disruption, or if Lifeboat does not refuse deletions with its cause.
 */
export function disruptionOf(subject: DisruptionSubject, terms: Terms, m: Moment): Disruption | undefined {
  const { pod } = subject;
  const isOfNode = endsNodes(terms.requester, m.settings);
  // The pod is already terminating, so the request only shortens the grace period.
  if (isOfNode && pod.deleting) return undefined;
  const known = knownNow(subject, isOfNode, m);
  const present = isOfNode ? terminationOf(terms, m) : isReset(pod) ? known[0] : conditionedDisruption(pod, m);
  if (present === undefined || !isReviewed(present.cause) || !isGateOn(present.cause, m.settings)) return undefined;
  return { cause: present.cause, deadline: Math.min(present.deadline, ...known.map(({ deadline }) => deadline)) };
}

function isReset({ disruptionTarget }: PodFacts): boolean {
  return disruptionTarget?.active === false;
}

/**
 * Lists the recorded disruptions. After 120 s, kube-controller-manager sets a pod's condition to False
 * (`syncStalePodDisruption`), but client-go repeats a refused deletion for up to 150 s. For a pod with this condition,
 * omits disruptions that were over before the newest disruption was recorded.
 */
function knownNow(subject: DisruptionSubject, isOfNode: boolean, { now }: Moment): readonly KnownDisruption[] {
  const recorded = knownDisruptions(subject, now);
  if (isOfNode || !isReset(subject.pod)) return recorded;
  const newest = Math.max(...recorded.map(({ evacuation }) => evacuation.createdAt));
  return recorded.filter(({ cause, deadline }) => {
    const isConditioned = cause !== "NodeTermination" && isReviewed(cause);
    return isConditioned && deadline + LATEST_SECONDS * 1000 >= newest;
  });
}

export interface DeletionTerms {
  readonly requester: string;
  /** The end of the requested grace period, in milliseconds since the epoch. */
  readonly deleteBy?: number;
  readonly graceSeconds?: number | undefined;
}

/** The grace period in seconds that Karpenter requests when no time is left. */
const NO_TIME_LEFT_SECONDS = 1;

export function deleteByOf(graceSeconds: number | undefined, asked: Date): number | undefined {
  if (graceSeconds === undefined) return undefined;
  return asked.getTime() + (graceSeconds > NO_TIME_LEFT_SECONDS ? graceSeconds * 1000 : 0);
}

/**
 * Returns the termination of the node. The deadline is the time in the node's annotation, or else the end of the
 * requested grace period, but at most `deadlineSeconds.NodeTermination` from now.
 */
export function terminationOf(
  { node, deleteBy }: DeletionTerms & { readonly node?: NodeFacts },
  { settings, now }: Moment,
): Disruption {
  const ends = Date.parse(node?.endsAt ?? "");
  const longest = now.getTime() + settings.guard.deadlineSeconds.NodeTermination * 1000;
  return {
    cause: "NodeTermination",
    deadline: Math.min(Number.isNaN(ends) ? (deleteBy ?? Infinity) : ends, longest),
  };
}

/** The minimum time that a migration needs, in seconds. */
const NEAR_SECONDS = 15;

/**
 * Returns whether the node is terminated too soon to start a migration. If it is, the guest uses the remaining time to
 * shut down.
 */
export function isTooNear({ cause, deadline }: Disruption, vmi: VmiFacts, now: Date): boolean {
  return cause === "NodeTermination" && !vmi.isMigrating && deadline - now.getTime() < NEAR_SECONDS * 1000;
}

/** Returns whether the pod has a label that Lifeboat's ValidatingAdmissionPolicies select. */
function isMadeForVm({ labels }: PodFacts): boolean {
  return labels[COMPONENT_LABEL] === LAUNCHER_COMPONENT || labels[COMPONENT_LABEL] === HOTPLUG_COMPONENT;
}

/**
 * The taints of nodes that Karpenter terminates. Upstream: karpenter `pkg/apis/v1/taints.go`. Older versions of
 * Karpenter use the name `disruption`.
 */
const ENDING_TAINTS = new Set(["karpenter.sh/disrupted", "karpenter.sh/disruption"]);

function isEnding({ unschedulable, endsAt, taints }: NodeFacts): boolean {
  return unschedulable || endsAt !== undefined || taints.some(({ key }) => ENDING_TAINTS.has(key));
}

interface Deletion extends Moment, DeletionTerms {
  readonly pod: PodFacts;
  readonly node?: NodeFacts;
}

/**
 * The shortest grace period in seconds for which a ValidatingAdmissionPolicy refuses deletions on a terminating node.
 */
const HELD_SECONDS = 60;

/** Returns whether one of Lifeboat's ValidatingAdmissionPolicies could refuse the deletion. */
export function mayBeHeld({ pod, node, requester, graceSeconds = 0, ...m }: Deletion): boolean {
  if (!isMadeForVm(pod) || pod.deleting || isFinal(pod)) return false;
  const cause = causeOf(pod, requester, m);
  if (cause !== "NodeTermination") return cause === "Preemption";
  // A pod does not show that its node is being terminated. Only the node shows it.
  const isShown = node === undefined || isEnding(node);
  return isGateOn(cause, m.settings) && graceSeconds >= HELD_SECONDS && isShown;
}
