/** Which of its own Evacuations descheduling withdraws: not started, and no longer wanted or older than the TTL. Upstream: KEP-1397. */
import type { EvacuationFacts } from "../../kube/evacuation.ts";
import { podUIDOf } from "../../evacuation/identity.ts";
import { DESCHEDULING } from "../../kube/names.ts";
import { secondsSince } from "../../settings/time.ts";
import { vmiOf } from "./in-progress.ts";
import { nominate, type Nominated, type NominationWorld } from "./nominations.ts";
import type { DeschedulerPolicy } from "./policy.ts";
import { isMigrationTarget } from "../../kube/objects.ts";

export interface Withdrawal {
  readonly evacuation: EvacuationFacts;
  readonly why: "NotWanted" | "Expired";
}

/** Says in `spec.requestedBy` that it was descheduling, and what for. */
export function requesterOf({ profile, plugin }: Pick<Nominated, "profile" | "plugin">): string {
  return `${DESCHEDULING}: ${profile}/${plugin}`;
}

/** An eviction by another descheduler has the same cause. */
function isOwn({ spec }: EvacuationFacts): boolean {
  const { cause, intent, requestedBy } = spec;
  return cause === "Descheduler" && intent === "Evacuate" && requestedBy.startsWith(`${DESCHEDULING}: `);
}

/** A migration that KubeVirt has started is left to finish. */
function hasStarted({ status: { phase, reason } }: EvacuationFacts): boolean {
  return phase === "Migrating" && reason !== "Queued" && reason !== "KubeVirtNotAnswering";
}

/**
 * UIDs of launcher pods whose VMs have not started to leave. A VM that has a pod to migrate to has started: its Evacuation's status may say
 * so later, and that pod takes the room that a plugin looks for.
 */
function stayingPods({ pods, vmis }: WithdrawalWorld): ReadonlySet<string> {
  const launchers = pods.flatMap((pod) => {
    const vmi = vmiOf(pod, vmis);
    return vmi === undefined ? [] : [{ pod, vmi }];
  });
  const moving = new Set(launchers.flatMap(({ pod, vmi }) => (isMigrationTarget(pod, vmi) ? [vmi] : [])));
  return new Set(launchers.flatMap(({ pod, vmi }) => (moving.has(vmi) ? [] : [pod.uid])));
}

export interface WithdrawalWorld extends NominationWorld {
  readonly policy: DeschedulerPolicy;
  /** That have not ended. */
  readonly evacuations: readonly EvacuationFacts[];
}

export function withdrawalsOf(w: WithdrawalWorld): readonly Withdrawal[] {
  const own = w.evacuations.filter((e) => isOwn(e) && !hasStarted(e));
  if (own.length === 0) return [];
  const [staying, wanted] = [stayingPods(w), wantedAmong(w)];
  return own.flatMap((evacuation): readonly Withdrawal[] => {
    const uid = podUIDOf(evacuation) ?? "";
    if (!staying.has(uid)) return [];
    if (!wanted.has(uid)) return [{ evacuation, why: "NotWanted" }];
    const isExpired = secondsSince(evacuation.createdAt, w.now) > w.policy.requestTtlSeconds;
    return isExpired ? [{ evacuation, why: "Expired" }] : [];
  });
}

/** The pods in progress that the plugins nominate if nothing else goes: neither limits nor other pods can hide one. */
function wantedAmong(w: WithdrawalWorld): ReadonlySet<string> {
  const wanted = new Set<string>();
  const nominations = nominate(w.policy, w);
  for (let next = nominations.next(); next.done !== true;) {
    const { pod } = next.value;
    const isInProgress = w.isInProgress(pod);
    if (isInProgress) wanted.add(pod.uid);
    next = nominations.next(isInProgress ? "Accepted" : "Skipped");
  }
  return wanted;
}
