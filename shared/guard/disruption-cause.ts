/**
 * Recognises a disruption that does not ask: what is about to end this pod, and until when its deletion is refused. Upstream: pod condition
 * `DisruptionTarget`, k8s.io/api/core/v1.
 */
import { byAge, isAbout } from "../evacuation/identity.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import { type Moment, secondsUntil } from "../settings/time.ts";
import { endsNodes, GUARD_CAUSES, type GuardCause, GUARDED, isGateOn } from "../settings/guarded.ts";
import { type DeletionTerms, terminationOf } from "./node-termination.ts";

export interface Disruption {
  readonly cause: GuardCause;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

/** One that an Evacuation tells of. */
export interface KnownDisruption extends Disruption {
  readonly evacuation: EvacuationFacts;
}

/**
 * What the pod's condition says while it is True; False is history. A clock of the control plane that is ahead moves no
 * deadline beyond what the administrator allows.
 */
export function conditionedDisruption({ disruptionTarget }: PodFacts, m: Moment): Disruption | undefined {
  const { active = false, reason = "", since = "" } = disruptionTarget ?? {};
  const cause = GUARD_CAUSES.find((one) => GUARDED[one].reason === reason);
  if (!active || cause === undefined) return undefined;
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

type Terms = DeletionTerms & { readonly node?: NodeFacts };

/**
 * Disruptions that Evacuations record, the oldest first: active ones, and ones that ended without a move, until their back-off
 * ends; also Duplicates of either, which record the disruption of a VM that was being evacuated already.
 */
export function knownDisruptions({ vmi, evacuations, podUID }: Subject, now: Date): readonly KnownDisruption[] {
  const about = vmi === undefined ? [] : evacuations.filter((e) => isAbout(e, vmi, podUID));
  const inForce = about.filter((e) => isActive(e) || secondsUntil(e.status.nextAttemptTime, now) > 0);
  const isInForce = (e: EvacuationFacts) => {
    return inForce.includes(e) || (e.status.phase === "Duplicate" && inForce.some((first) => byAge(first, e) < 0));
  };
  return about
    .filter(isInForce)
    .toSorted(byAge)
    .flatMap((evacuation) => disruptionIn(evacuation) ?? []);
}

function disruptionIn(evacuation: EvacuationFacts): KnownDisruption | undefined {
  const { cause, deadline = "" } = evacuation.spec;
  const time = Date.parse(deadline);
  const guarded = GUARD_CAUSES.find((one) => one === cause);
  return guarded === undefined || Number.isNaN(time) ? undefined : { cause: guarded, deadline: time, evacuation };
}

/**
 * The disruption that the pod is under. Who ends nodes names the cause; of others the first sighting needs the True condition;
 * from then on its Evacuation counts, for kube-controller-manager resets the condition after 120 s even while deletions keep
 * coming. While the condition is True it names the present cause, else the newest Evacuation does; the earliest deadline
 * counts. A cause whose gate is off is none.
 */
export function disruptionOf(pod: PodFacts, subject: Subject, terms: Terms, m: Moment): Disruption | undefined {
  const isOfNode = endsNodes(terms.requester, m.settings);
  // It ends already: only sooner now.
  if (isOfNode && pod.deleting) return undefined;
  const known = knownDisruptions(subject, m.now);
  const present = isOfNode ? terminationOf(terms, m) : conditionedDisruption(pod, m);
  const { cause } = present ?? known.at(-1) ?? {};
  if (cause === undefined || !isGateOn(cause, m.settings)) return undefined;
  return { cause, deadline: Math.min(present?.deadline ?? Infinity, ...known.map(({ deadline }) => deadline)) };
}
