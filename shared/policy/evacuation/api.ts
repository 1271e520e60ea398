/** What a person may ask for of a VM, and what would become of that. */
import type { EvacuationFacts, VmiFacts } from "../facts.ts";
import { activeEvacuation, byAge, isAbout, newEvacuation } from "./identity.ts";
import { nextOf } from "./rules.ts";
import type { EvacuationWorld, Next } from "./world.ts";

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

type Known = Pick<EvacuationWorld, "evacuations" | "migrations" | "settings" | "now">;

/** What comes next for an Evacuation that a person creates now, once the VM is marked where that comes first. */
export function foresee(vmi: VmiFacts, known: Known): Next | "StaleRead" {
  const { nodeName } = vmi;
  const next = firstOf(vmi, known);
  const isMarkNext = next !== "StaleRead" && next.phase === "Pending" && nodeName !== undefined;
  return isMarkNext ? firstOf({ ...vmi, evacuationNodeName: nodeName }, known) : next;
}

function firstOf(vmi: VmiFacts, known: Known): Next | "StaleRead" {
  const { evacuations, now } = known;
  const created = newEvacuation(vmi, { cause: "Operator", requestedBy: "" }, { evacuations, now });
  const unseen = { uid: "", resourceVersion: "", createdAt: now.getTime(), status: { attempts: 0, conditions: [] } };
  const e: EvacuationFacts = { ...created, ...unseen };
  const unread = { budgets: [], pods: [], nodes: [], vmisAreNewer: true };
  return nextOf(e, { ...known, ...unread, vmis: [vmi], evacuations: [...evacuations, e] });
}
