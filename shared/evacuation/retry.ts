/** What a person may ask for of a VM. */
import type { VmiFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { activeEvacuation, byAge, isAbout } from "./identity.ts";

export interface Retry {
  /** It backs off, and `spec.retryAt` ends that; or it was given up, and another one starts, which inherits nothing. */
  readonly retry: "TryNow" | "BeginAnew";
  readonly evacuation: EvacuationFacts;
}

/** Undefined: nothing has failed. */
export function retryOf(vmi: VmiFacts, evacuations: readonly EvacuationFacts[]): Retry | undefined {
  const active = activeEvacuation(vmi, evacuations);
  if (active !== undefined)
    return active.status.phase === "BackingOff" ? { retry: "TryNow", evacuation: active } : undefined;
  // One that was cancelled since, as the next request of a drain had begun it, takes nothing of that back.
  const abandoned = evacuations.filter((e) => e.status.phase === "Abandoned" && isAbout(e, vmi));
  const last = abandoned.toSorted(byAge).at(-1);
  return last === undefined ? undefined : { retry: "BeginAnew", evacuation: last };
}
