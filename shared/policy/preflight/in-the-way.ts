/** What a person has to know of before a drain: a pod that does not leave, a guest that ends, a VM without room elsewhere. */
import type { PodVerdict } from "./result.ts";

export function isInTheWay({ outcome, room }: Pick<PodVerdict, "outcome" | "room">): boolean {
  return outcome === "Blocked" || outcome === "ShutsDown" || room?.fits === false;
}
