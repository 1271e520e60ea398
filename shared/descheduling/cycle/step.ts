/**
 * The steps of a descheduling cycle, and the result of each.
 * Owns: their closed list. Does not own: their order (request.ts), performing them (deschedule.ts).
 */
import type { Action } from "../../policy/action.ts";
import type { EvictionOutcome } from "./eviction-answer.ts";
import type { Nominated } from "./nominations.ts";
import type { DeschedulingRegister, Found } from "./register.ts";

export type Step =
  /** Replace the register by compare-and-set. */
  | { readonly step: "Write"; readonly found: Found; readonly register: DeschedulingRegister }
  /** Annotate a pod, or tell an Event about it. */
  | { readonly step: "Act"; readonly action: Action }
  /** `inBackground`: whether a 429 with a known prefix means that the evacuation goes on. */
  | { readonly step: "Evict"; readonly nominated: Nominated; readonly inBackground: boolean }
  /** Read the register again. */
  | { readonly step: "Read" };

/** `Failed`: the API server gave no answer, or an unknown one; the step may have been done. */
export type ActOutcome = "Done" | "Conflict" | "Refused" | "Failed";

export type Outcome =
  | { readonly step: "Write" | "Act"; readonly outcome: ActOutcome }
  | { readonly step: "Evict"; readonly outcome: EvictionOutcome }
  | { readonly step: "Read"; readonly register?: DeschedulingRegister };

/** `now`: when the step was over. */
export type StepResult = Outcome & { readonly now: Date };
