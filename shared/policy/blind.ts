/**
 * What is answered when the facts cannot be learnt: reviewed here, in one place.
 * Owns: the table and its reasons. Does not own: noticing blindness, HTTP.
 *
 * A 5xx carries no Retry-After: the API server would call again until its patience is used up. It applies the webhook's own
 * failurePolicy, as it does when Lifeboat is down; KubeVirt's webhook and the budgets go on.
 */
import { isCompleted, type PodFacts } from "./facts.ts";
import { isLauncher, launcherOfHotplug } from "./kube/pod-kind.ts";

/** `refuse`: 429, the caller tries again. `fail`: 503. `allow`: as if there were no webhook. */
export type Posture = "refuse" | "fail" | "allow";

export const WHEN_BLIND = {
  /** The pod has just been read: a guest runs in it, and must not die of what else could not be learnt. */
  evictionOfLivePod: "refuse",
  /** It has just been read: it has ended, or is none of KubeVirt's. */
  evictionOfOtherPod: "allow",
  /** Nothing is known: a drain must not wait for Lifeboat for ever. */
  evictionOfUnknownPod: "fail",
  /** Scheduler and taint manager ask no budget. The pod comes with the request, and shows how long it may be held. */
  deletionBeforeDeadline: "refuse",
  deletionOtherwise: "allow",
  /** The relay sends it again. */
  delivery: "fail",
} as const satisfies Record<string, Posture>;

/** What is answered to an eviction. `pod`: as it has just been read, if it could be. */
export function whenEvictionIsBlind(pod: PodFacts | undefined): Posture {
  if (pod === undefined) return WHEN_BLIND.evictionOfUnknownPod;
  return isOfLiveVm(pod) ? WHEN_BLIND.evictionOfLivePod : WHEN_BLIND.evictionOfOtherPod;
}

/** A launcher pod that has not ended, or a hotplug pod, which holds a volume of one. */
export function isOfLiveVm(pod: PodFacts): boolean {
  return !isCompleted(pod) && (isLauncher(pod) || launcherOfHotplug(pod) !== undefined);
}

/** What a caller is told who is refused because the facts are unknown. */
export function blindMessage(request: "eviction" | "deletion", what: string, why: string): string {
  return `${BLIND} ${request} of ${what}, try again: ${why}`;
}

const BLIND = "cannot decide on the";

/** Whether these are our words for that. What was refused so may have been done: an answer to us may have been lost. */
export function saysBlind(words: string): boolean {
  return words.startsWith(BLIND);
}
