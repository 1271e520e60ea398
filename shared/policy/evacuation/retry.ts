/**
 * Trying again now, when a person asks for that.
 *
 * What is written is one new Evacuation with cause `Operator`, which a person can create with kubectl, too. Where another one of the pod is
 * backing off, the new one ends as its duplicate, and with it ends the back-off.
 */
import type { EvacuationFacts, VmiFacts } from "../facts.ts";
import { activeEvacuation, byAge, isAbout } from "./identity.ts";
import { type LivePair, ofVmi } from "./world.ts";

export type Retry =
  /** This one waits for the end of its back-off. */
  | { readonly retry: "TryNow"; readonly evacuation: EvacuationFacts }
  /** This one was given up: another begins, which inherits nothing. */
  | { readonly retry: "BeginAnew"; readonly evacuation: EvacuationFacts };

/** Undefined: nothing has failed. */
export function retryOf(vmi: VmiFacts, evacuations: readonly EvacuationFacts[]): Retry | undefined {
  const active = activeEvacuation(vmi, evacuations);
  if (active !== undefined)
    return active.status.phase === "BackingOff" ? { retry: "TryNow", evacuation: active } : undefined;
  // One that was cancelled since, as the next request of a drain had begun it, takes nothing of that back.
  const last = evacuations
    .filter((e) => e.status.phase === "Abandoned" && isAbout(e, vmi))
    .toSorted(byAge)
    .at(-1);
  return last === undefined ? undefined : { retry: "BeginAnew", evacuation: last };
}

/** Creation times are in whole seconds. */
const SECOND_MS = 1000;

/**
 * Whether a person has asked again since an attempt failed (milliseconds since the epoch). Their Evacuation stays readable after its end,
 * so that a function that looks later finds it, too.
 */
export function isAskedAgain({ e, vmi, w }: LivePair, failedAt: number): boolean {
  return ofVmi(w.evacuations, vmi).some((one) => {
    const isAnother = one.uid !== e.uid && isAbout(one, vmi);
    return isAnother && isByHand(one) && one.createdAt + SECOND_MS > failedAt;
  });
}

function isByHand({ spec }: EvacuationFacts): boolean {
  return spec.cause === "Operator" && spec.intent === "Evacuate";
}
