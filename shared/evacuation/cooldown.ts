/** Computes how long Lifeboat avoids another move of a VM after a migration. */
import type { VmiFacts } from "../kube/facts.ts";
import { type Moment, secondsSince } from "../settings/time.ts";
import { EVACUATION_MESSAGES as MESSAGES } from "./messages.ts";

/**
 * Returns the number of seconds until the cooldown ends, or 0. Ignores a `movedAt` far in the future, because a node's
 * clock might be wrong.
 */
export function cooldownLeft({ movedAt }: VmiFacts, { settings, now }: Moment): number {
  const { cooldownSeconds } = settings.evacuation;
  const age = Math.abs(secondsSince(movedAt, now));
  return age < cooldownSeconds ? Math.ceil(cooldownSeconds - age) : 0;
}

export function cooldownReason(vmi: VmiFacts, moment: Moment): string | undefined {
  const left = cooldownLeft(vmi, moment);
  return left === 0 ? undefined : MESSAGES.hasJustMoved(left);
}
