/**
 * Which evacuations are in progress, told from Evacuations and from the pods themselves. Upstream: KEP-1397; the descheduler's cache of
 * eviction requests, with its expiry stopped by the confirmation.
 */
import { type EvacuationFacts, isCompleted, keyOf, type VmiFacts } from "../../policy/facts.ts";
import {
  EVACUATION_REQUESTED_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
  REQUEST_EVICT_ONLY_ANNOTATION,
} from "../../policy/names.ts";
import { activeEvacuation } from "../../policy/evacuation/identity.ts";
import { isLauncher, vmiNameOf } from "../../policy/kube/pod-kind.ts";
import type { DeschedulerPod } from "../plugins/facts.ts";

/** How far the clocks of two functions may differ; Lifeboat has not written a later request time. */
const CLOCK_SKEW_SECONDS = 60;

export type Vmis = ReadonlyMap<string, VmiFacts>;

/** The VMI of a launcher pod. */
export function vmiOf(pod: DeschedulerPod, vmis: Vmis): VmiFacts | undefined {
  return isLauncher(pod) ? vmis.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" })) : undefined;
}

/** Whether an eviction of the pod is only a request for its evacuation. */
export function isEvacuated(pod: DeschedulerPod): boolean {
  return REQUEST_EVICT_ONLY_ANNOTATION in pod.annotations || isLauncher(pod);
}

/** The evacuating side has confirmed the request on the pod: it does not expire. */
export function isConfirmed({ annotations }: DeschedulerPod): boolean {
  return REQUEST_EVICT_ONLY_ANNOTATION in annotations && EVICTION_IN_PROGRESS_ANNOTATION in annotations;
}

/** Whether that time lies within the last `ttlSeconds`. */
function isFresh(time: string | undefined, ttlSeconds: number, now: Date): boolean {
  const age = (now.getTime() - Date.parse(time ?? "")) / 1000;
  return age >= -CLOCK_SKEW_SECONDS && age <= ttlSeconds;
}

export interface InProgressFacts {
  readonly pods: readonly DeschedulerPod[];
  readonly vmis: Vmis;
  /** Read before the pods. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly requestTtlSeconds: number;
  readonly now: Date;
}

/** The pods whose evacuation is requested or under way, by whatever. Never a pod that has ended, whatever its annotations. */
export function inProgressAmong(f: InProgressFacts): readonly DeschedulerPod[] {
  const byVmi = Map.groupBy(f.evacuations, ({ namespace, spec }) => keyOf({ namespace, name: spec.vmiName }));
  return f.pods.filter((pod) => {
    if (isCompleted(pod)) return false;
    const requested = pod.annotations[EVACUATION_REQUESTED_ANNOTATION];
    if (isConfirmed(pod) || isFresh(requested, f.requestTtlSeconds, f.now)) return true;
    const vmi = vmiOf(pod, f.vmis);
    return vmi !== undefined && activeEvacuation(vmi, byVmi.get(keyOf(vmi)) ?? [], pod.uid) !== undefined;
  });
}
