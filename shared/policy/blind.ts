/**
 * What each door does when it cannot learn the facts: reviewed here, in one place.
 * Owns: the postures and their reasons. Does not own: noticing blindness.
 */

export const WHEN_BLIND = {
  /** 429: the caller retries, and a VM must not die of our blindness. */
  eviction: "deny",
  /** 429 before the deadline as far as the request itself shows it, and let go after: critical pods never wait longer. */
  deletion: "denyUntilDeadline",
  /** Sent again: what was told is neither lost nor half done. */
  events: "retry",
  /** The operator is told what is wrong, with a code that says whose fault it is. */
  operator: "fail",
  /** What the last pass did not do the next one does. */
  schedule: "skip",
} as const satisfies Record<string, "deny" | "denyUntilDeadline" | "retry" | "fail" | "skip">;

/** What a caller is told who is refused because the facts are unknown. */
export function blindMessage(request: "eviction" | "deletion", what: string, why: string): string {
  return `${BLIND} ${request} of ${what}, try again: ${why}`;
}

const BLIND = "cannot decide on the";

/** Whether these are our words for that. What was refused so may have been done: an answer to us may have been lost. */
export function saysBlind(words: string): boolean {
  return words.startsWith(BLIND);
}
