/** What it means that an evacuating VM has no mark: KubeVirt has not set it yet, or it was taken back. */
import { CAUSE } from "../cause.ts";
import { secondsSince } from "../time.ts";
import { isMarked } from "./mark.ts";
import type { LivePair } from "./world.ts";

export function isMarkMissing({ e, vmi }: LivePair): boolean {
  return !isMarked(vmi) && CAUSE[e.spec.cause].mark !== "NotNeeded";
}

export function wasMarkSeen({ e }: LivePair): boolean {
  return e.status.conditions.some((c) => c.type === "Marked" && c.status === "True");
}

export function isTakenBack(pair: LivePair): boolean {
  return isMarkMissing(pair) && pair.w.vmisAreNewer && wasMarkSeen(pair);
}

/** How long a review may take from creating an Evacuation to marking its VM: until the API server has given it up, and a little more. */
const MARKING_SECONDS = 15;

/**
 * The review of the taint manager's deletion creates an Evacuation, and marks the VM next. Ended in between, it would leave a mark that
 * looks like a new request of KubeVirt's, and for an External VM stays for ever. By a clock that is far off it ends at once.
 */
export function isMarkOnItsWay(pair: LivePair): boolean {
  const age = secondsSince(pair.e.createdAt, pair.w.now);
  return isMarkMissing(pair) && !wasMarkSeen(pair) && Math.abs(age) < MARKING_SECONDS;
}
