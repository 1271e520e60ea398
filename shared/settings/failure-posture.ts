/**
 * Defines Lifeboat's answers when it cannot read the facts. After a 5xx, the API server applies failurePolicy, as if
 * Lifeboat were down.
 */
import type { PodFacts } from "../kube/facts.ts";
import { isOfLiveVm } from "../kube/objects.ts";

/**
 * `refuse`: answers with 429, so that the caller tries again. `fail`: answers with 503. `allow`: allows the request, as
 * if there were no webhook.
 */
export type Posture = "refuse" | "fail" | "allow";

export const WHEN_UNDECIDED = {
  /**
   * Lifeboat has just read the pod, and a guest runs in it. A fact that is missing for a short time must not lead to
   * the shutdown of the guest.
   */
  evictionOfLivePod: "refuse",
  evictionOfLivePodForGood: "fail",
  /** Lifeboat has just read the pod. The pod has ended, or does not belong to KubeVirt. */
  evictionOfOtherPod: "allow",
  evictionOfOddPod: "refuse",
  evictionOfUnknownPod: "fail",
  deletion: "fail",
  delivery: "fail",
} as const satisfies Record<string, Posture>;

/**
 * Returns the answer to an eviction for which Lifeboat could not read the facts. `pod` is the pod that Lifeboat has
 * just read. `forGood` is true if the same request would always fail.
 */
export function whenEvictionIsUndecided(pod: PodFacts | "Odd" | undefined, forGood: boolean): Posture {
  if (pod === "Odd") return WHEN_UNDECIDED.evictionOfOddPod;
  if (pod === undefined) return WHEN_UNDECIDED.evictionOfUnknownPod;
  if (!isOfLiveVm(pod)) return WHEN_UNDECIDED.evictionOfOtherPod;
  return forGood ? WHEN_UNDECIDED.evictionOfLivePodForGood : WHEN_UNDECIDED.evictionOfLivePod;
}

export function undecidedMessage(request: "eviction" | "deletion", what: string, why: string): string {
  return `${UNDECIDED} ${request} of ${what}, try again: ${why}`;
}

const UNDECIDED = "cannot decide on the";

/**
 * Returns true if the text says that Lifeboat could not decide. The VM's evacuation might still have started, if the
 * API server performed Lifeboat's request but its answer was lost.
 */
export function saysUndecided(words: string): boolean {
  return words.startsWith(UNDECIDED);
}
