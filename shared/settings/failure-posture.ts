/**
 * Lifeboat's answers when it cannot learn the facts. At a 5xx the API server applies failurePolicy, as when Lifeboat is
 * down.
 */
import type { PodFacts } from "../kube/facts.ts";
import { isOfLiveVm } from "../kube/objects.ts";

/** `refuse`: 429, the caller tries again. `fail`: 503. `allow`: as if there were no webhook. */
export type Posture = "refuse" | "fail" | "allow";

export const WHEN_UNDECIDED = {
  /** The pod was just read, and a guest runs in it: a briefly missing fact must not end the guest. */
  evictionOfLivePod: "refuse",
  evictionOfLivePodForGood: "fail",
  /** The pod was just read: it has ended, or is not KubeVirt's. */
  evictionOfOtherPod: "allow",
  evictionOfOddPod: "refuse",
  evictionOfUnknownPod: "fail",
  deletion: "fail",
  delivery: "fail",
} as const satisfies Record<string, Posture>;

/**
 * Returns the answer to an eviction for which Lifeboat could not read the facts. `pod`: the pod as just read.
 * `forGood`: the same request would fail in the same way again.
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
 * Returns whether a refusal says that Lifeboat could not read the facts. The refused action may still have happened,
 * because an answer to Lifeboat can be lost.
 */
export function saysUndecided(words: string): boolean {
  return words.startsWith(UNDECIDED);
}
