/** Which evacuations are in progress, by Evacuations and the pods themselves. Upstream: KEP-1397, the cache of eviction requests. */
import { activeEvacuation } from "../../evacuation/identity.ts";
import type { VmiFacts } from "../../kube/facts.ts";
import type { EvacuationFacts } from "../../kube/evacuation.ts";
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";
import {
  EVACUATION_REQUESTED_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
  REQUEST_EVICT_ONLY_ANNOTATION,
} from "../../kube/names.ts";
import type { DeschedulerPolicy } from "./policy.ts";
import { isFinal, isLauncher, keyOf, vmiNameOf } from "../../kube/objects.ts";

/** How far the clocks of two functions may differ; Lifeboat has not written a later request time. */
const CLOCK_SKEW_SECONDS = 60;

export type Vmis = ReadonlyMap<string, VmiFacts>;

/** The VMI of a launcher pod. */
export function vmiOf(pod: ScheduledPod, vmis: Vmis): VmiFacts | undefined {
  return isLauncher(pod) ? vmis.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" })) : undefined;
}

/** Whether an eviction of the pod is only a request for its evacuation. */
export function isEvacuated(pod: ScheduledPod): boolean {
  return REQUEST_EVICT_ONLY_ANNOTATION in pod.annotations || isLauncher(pod);
}

/** The evacuating side has confirmed the request on the pod: it does not expire. */
export function isConfirmed({ annotations }: ScheduledPod): boolean {
  return REQUEST_EVICT_ONLY_ANNOTATION in annotations && EVICTION_IN_PROGRESS_ANNOTATION in annotations;
}

/** Whether that time lies within the last `ttlSeconds`. */
function isFresh(time: string | undefined, ttlSeconds: number, now: Date): boolean {
  const age = (now.getTime() - Date.parse(time ?? "")) / 1000;
  return age >= -CLOCK_SKEW_SECONDS && age <= ttlSeconds;
}

export interface InProgressFacts {
  readonly pods: readonly ScheduledPod[];
  readonly vmis: Vmis;
  /** Read before the pods. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly policy: Pick<DeschedulerPolicy, "requestTtlSeconds">;
  readonly now: Date;
}

/** The pods whose evacuation is requested or in progress, by any party. Never a pod that has ended, in spite of its annotations. */
export function inProgressAmong({ pods, vmis, evacuations, policy, now }: InProgressFacts): readonly ScheduledPod[] {
  const byVmi = Map.groupBy(evacuations, ({ namespace, spec }) => keyOf({ namespace, name: spec.vmiName }));
  return pods.filter((pod) => {
    if (isFinal(pod)) return false;
    const requested = pod.annotations[EVACUATION_REQUESTED_ANNOTATION];
    if (isConfirmed(pod) || isFresh(requested, policy.requestTtlSeconds, now)) return true;
    const vmi = vmiOf(pod, vmis);
    return vmi !== undefined && activeEvacuation(vmi, byVmi.get(keyOf(vmi)) ?? [], pod.uid) !== undefined;
  });
}
