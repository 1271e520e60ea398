/**
 * Recognising a disruption that does not ask: what is about to end this pod, and until when its deletion is held back.
 * Owns: condition, Evacuations, requester and gate → cause and deadline. Does not own: what is done about it (deletion.ts,
 * disruption.ts).
 * Upstream: pod condition `DisruptionTarget`, k8s.io/api/core/v1.
 */
import type { Cause } from "../cause.ts";
import { isAbout, isOlder, restSeconds } from "../evacuation/identity.ts";
import type { EvacuationFacts, PodFacts, VmiFacts } from "../facts.ts";
import { isActive } from "../evacuation/phase.ts";
import type { FeatureGate, Settings } from "../settings.ts";

/** Causes whose deletions are held back. */
export type GuardCause = Extract<Cause, "Preemption" | "NoExecuteTaint">;

export const GUARD_CAUSES: readonly GuardCause[] = ["Preemption", "NoExecuteTaint"];

/** Reasons of the condition that are ours to answer; the others end pods by the eviction API or by the kubelet. */
export const CAUSE_OF_REASON: Readonly<Record<string, GuardCause>> = {
  PreemptionByScheduler: "Preemption",
  DeletionByTaintManager: "NoExecuteTaint",
};

export const GATE_OF_CAUSE = {
  Preemption: "PreemptionEvictionLiveMigration",
  NoExecuteTaint: "NoExecuteTaintEvictionLiveMigration",
} as const satisfies Record<GuardCause, FeatureGate>;

export interface Disruption {
  readonly cause: GuardCause;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

/** One that an Evacuation tells of. */
export interface KnownDisruption extends Disruption {
  readonly evacuation: EvacuationFacts;
}

export interface Moment {
  readonly settings: Settings;
  readonly now: Date;
}

/** Whether a deletion by this user can be one at all; of any other nothing needs to be known. */
export function isOfInterest(requester: string, { featureGates, guard }: Settings): boolean {
  const gated = GUARD_CAUSES.some((cause) => featureGates.includes(GATE_OF_CAUSE[cause]));
  return gated && guard.mode !== "Off" && guard.requesters.includes(requester);
}

/**
 * What the pod's condition tells while it is True: status False is history. Whatever the clocks of the control plane say, no
 * deadline is further away than the administrator allows.
 */
export function conditionedDisruption({ disruptionTarget }: PodFacts, m: Moment): Disruption | undefined {
  const { active = false, reason = "", since = "" } = disruptionTarget ?? {};
  const cause = active && Object.hasOwn(CAUSE_OF_REASON, reason) ? CAUSE_OF_REASON[reason] : undefined;
  if (cause === undefined) return undefined;
  const [began, now] = [Date.parse(since), m.now.getTime()];
  return { cause, deadline: (began <= now ? began : now) + m.settings.guard.deadlineSeconds[cause] * 1000 };
}

export interface Subject {
  readonly vmi: VmiFacts | undefined;
  /** Every one that names the VMI. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Of the launcher pod that is to end. */
  readonly podUID: string;
}

/**
 * What Evacuations tell, the oldest first: those that go on, those that have just ended without a move, until their
 * back-off is over, and their Duplicates: the disruption of a VM that is being evacuated already.
 */
export function knownDisruptions({ vmi, evacuations, podUID }: Subject, now: Date): readonly KnownDisruption[] {
  const about = vmi === undefined ? [] : evacuations.filter((e) => isAbout(e, vmi, podUID));
  const inForce = about.filter((e) => isActive(e) || restSeconds(e.status.nextAttemptTime, now) > 0);
  const isInForce = (e: EvacuationFacts) => {
    return inForce.includes(e) || (e.status.phase === "Duplicate" && inForce.some((first) => isOlder(first, e)));
  };
  return about
    .filter(isInForce)
    .toSorted((a, b) => (isOlder(a, b) ? -1 : 1))
    .flatMap((evacuation) => disruptionIn(evacuation) ?? []);
}

export function disruptionIn(evacuation: EvacuationFacts): KnownDisruption | undefined {
  const { cause, deadline = "" } = evacuation.spec;
  const time = Date.parse(deadline);
  if ((cause !== "Preemption" && cause !== "NoExecuteTaint") || Number.isNaN(time)) return undefined;
  return { cause, deadline: time, evacuation };
}

/**
 * The disruption that the pod is under. The first sighting needs the True condition; from then on its Evacuation counts, for
 * kube-controller-manager resets the condition after 120 s even while deletions keep coming. While the condition is True
 * it says who is at work now, else the newest Evacuation; the earliest deadline counts. A cause whose gate is off is none.
 */
export function disruptionOf(pod: PodFacts, subject: Subject, m: Moment): Disruption | undefined {
  const known = knownDisruptions(subject, m.now);
  const conditioned = conditionedDisruption(pod, m);
  const { cause } = conditioned ?? known.at(-1) ?? {};
  if (cause === undefined || !m.settings.featureGates.includes(GATE_OF_CAUSE[cause])) return undefined;
  return { cause, deadline: Math.min(conditioned?.deadline ?? Infinity, ...known.map(({ deadline }) => deadline)) };
}
