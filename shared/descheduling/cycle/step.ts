/** The steps of a descheduling cycle, and the result of each. */
import type { Action } from "../../policy/action.ts";
import type { EvacuationFacts, NamespacedName } from "../../policy/facts.ts";
import type { EvictionOutcome } from "./eviction-answer.ts";
import type { Nominated } from "./nominations.ts";

export type Step =
  /** Create an Evacuation, annotate a pod, or tell an Event about it. */
  | { readonly step: "Act"; readonly action: Action }
  /** Take a request back that has not begun. */
  | { readonly step: "Withdraw"; readonly evacuation: EvacuationFacts }
  /** Read every Evacuation that names the VMI, ended ones included. */
  | { readonly step: "Look"; readonly vmi: NamespacedName }
  /** `inBackground`: whether a 429 with a known prefix means that the evacuation goes on. */
  | { readonly step: "Evict"; readonly nominated: Nominated; readonly inBackground: boolean };

/** `Failed`: the API server gave no answer, or an unknown one; the step may have been done. */
export type ActOutcome = "Done" | "Conflict" | "Refused" | "Failed";

export type Outcome =
  | { readonly step: "Act" | "Withdraw"; readonly outcome: ActOutcome }
  /** Absent: they could not be read. */
  | { readonly step: "Look"; readonly evacuations?: readonly EvacuationFacts[] }
  | { readonly step: "Evict"; readonly outcome: EvictionOutcome };

/** `now`: when the step was over. */
export type StepResult = Outcome & { readonly now: Date };
