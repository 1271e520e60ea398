/**
 * Which evacuations are in progress, told from the pods themselves.
 * Owns: annotation, request time, reservation → in progress. Does not own: writing any of them (cycle.ts, and the reconciler
 * of the descheduler's annotations).
 * Upstream: KEP-1397; the descheduler's cache of eviction requests, with its expiry stopped by the confirmation.
 */
import { isCompleted } from "../../policy/facts.ts";
import {
  EVACUATION_REQUESTED_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
  REQUEST_EVICT_ONLY_ANNOTATION,
} from "../../policy/names.ts";
import { isLauncher } from "../../policy/kube/pod-kind.ts";
import type { DeschedulerPod } from "../plugins/facts.ts";
import type { Reservation } from "./register.ts";

/** How far the clocks of two functions may differ; Lifeboat has not written a later request time. */
const CLOCK_SKEW_SECONDS = 60;

/** Whether an eviction of the pod is only a request for its evacuation. */
export function isEvacuated(pod: DeschedulerPod): boolean {
  return REQUEST_EVICT_ONLY_ANNOTATION in pod.annotations || isLauncher(pod);
}

/** The evacuating side has confirmed the request on the pod: it does not expire. */
export function isConfirmed({ annotations }: DeschedulerPod): boolean {
  return REQUEST_EVICT_ONLY_ANNOTATION in annotations && EVICTION_IN_PROGRESS_ANNOTATION in annotations;
}

/** Whether that time lies within the last `ttlSeconds`. */
export function isFresh(time: string | undefined, ttlSeconds: number, now: Date): boolean {
  const age = (now.getTime() - Date.parse(time ?? "")) / 1000;
  return age >= -CLOCK_SKEW_SECONDS && age <= ttlSeconds;
}

export interface InProgressFacts {
  /** Read after the register. */
  readonly pods: readonly DeschedulerPod[];
  /** The register's. */
  readonly reservations: readonly Reservation[];
  readonly requestTtlSeconds: number;
  readonly now: Date;
}

/** The pods whose evacuation is requested or under way. Never a pod that has ended, whatever its annotations. */
export function inProgressAmong({
  pods,
  reservations,
  requestTtlSeconds,
  now,
}: InProgressFacts): readonly DeschedulerPod[] {
  const reserved = new Set(reservations.map(({ uid }) => uid));
  return pods.filter((pod) => {
    if (isCompleted(pod)) return false;
    const requested = pod.annotations[EVACUATION_REQUESTED_ANNOTATION];
    return isConfirmed(pod) || reserved.has(pod.uid) || isFresh(requested, requestTtlSeconds, now);
  });
}

/**
 * The reservations that still speak for their pods. Of the others the pod is gone, or carries the request itself by now,
 * or the time has expired.
 */
export function keptReservations({
  pods,
  reservations,
  requestTtlSeconds,
  now,
}: InProgressFacts): readonly Reservation[] {
  const reserved = new Set(reservations.map(({ uid }) => uid));
  const found = new Map(pods.flatMap((pod) => (reserved.has(pod.uid) ? [[pod.uid, pod] as const] : [])));
  return reservations.filter(({ uid, at }) => {
    const pod = found.get(uid);
    if (pod === undefined || isConfirmed(pod) || !isFresh(at, requestTtlSeconds, now)) return false;
    return !isFresh(pod.annotations[EVACUATION_REQUESTED_ANNOTATION], requestTtlSeconds, now);
  });
}
