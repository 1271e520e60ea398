/** Lifeboat's answers when it cannot learn the facts. At a 5xx the API server applies failurePolicy, as when Lifeboat is down. */
import type { PodFacts } from "../kube/facts.ts";
import { isOfLiveVm } from "../kube/objects.ts";

/** `refuse`: 429, the caller tries again. `fail`: 503. `allow`: as if there were no webhook. */
export type Posture = "refuse" | "fail" | "allow";

export const WHEN_UNDECIDED = {
  /** The pod has just been read, and a guest runs in it: a fact that is missing for a moment must not end it. */
  evictionOfLivePod: "refuse",
  /** A permission or a kind is missing. Tried again, it would be refused for ever: without Lifeboat it would not. */
  evictionOfLivePodForGood: "fail",
  /** The pod has just been read: it has ended, or is not one of KubeVirt's. */
  evictionOfOtherPod: "allow",
  /** The pod is there, but too large to be read, or not what a pod looks like: whose guest it has is not known. A person has to look. */
  evictionOfOddPod: "refuse",
  /** Nothing is known: a drain must not wait for Lifeboat for ever. */
  evictionOfUnknownPod: "fail",
  /** A policy of the API server holds the pod for a while, as when Lifeboat is away. `functions/deletions.ts` always fails then. */
  deletion: "fail",
  delivery: "fail",
} as const satisfies Record<string, Posture>;

/** `pod`: as it has just been read. `forGood`: the same request would fail in the same way again. */
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

/** Returns whether a refusal says that it is undecided. The refused action may have happened, because an answer to Lifeboat can be lost. */
export function saysUndecided(words: string): boolean {
  return words.startsWith(UNDECIDED);
}
