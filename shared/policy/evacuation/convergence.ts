/**
 * How hard a VM's migrations try to converge: the value of the label that the shipped MigrationPolicies select.
 * Owns: which value, by cause and by failed attempts. Does not own: what the policies say (infra/kubernetes), writing the label
 * (patches.ts).
 *
 * KubeVirt looks for a policy when it hands a VM over to the target pod, so the label is there before the next migration: KubeVirt
 * itself waits 20 s or longer after a failed one.
 */
import { CAUSE, type Cause, URGENCIES, type Urgency } from "../cause.ts";
import type { VmiFacts } from "../facts.ts";

/** When an evacuation begins. The owner of a VM decides whether its guest may be slowed down or paused. */
export function urgencyOf({ isGentle }: VmiFacts, cause: Cause): Urgency {
  return isGentle === true ? "normal" : CAUSE[cause].urgency;
}

/** After so many failed attempts; undefined: the label says as much already, or is not to say more. */
export function strongerUrgency({ isGentle, evacuationLabel }: VmiFacts, attempts: number): Urgency | undefined {
  if (isGentle === true) return undefined;
  const wanted = attempts > 1 ? "urgent" : "firm";
  const isStronger = URGENCIES.indexOf(wanted) > URGENCIES.findIndex((one) => one === evacuationLabel);
  return isStronger ? wanted : undefined;
}
