/**
 * The steps of a descheduling cycle, and what comes back of each.
 * Owns: their closed list. Does not own: which follow on which (request.ts), performing them.
 */
import type { Action } from "../../policy/action.ts";
import type { EvictionOutcome } from "./eviction-answer.ts";
import type { Nominated } from "./nominations.ts";
import type { DeschedulingRegister } from "./register.ts";

export type Step =
  | { readonly step: "Act"; readonly action: Action }
  /** `inBackground`: whether a 429 in the right words means that it goes on. */
  | { readonly step: "Evict"; readonly nominated: Nominated; readonly inBackground: boolean }
  /** The register as it is now. */
  | { readonly step: "Read" };

/** `Failed`: the API server did not answer, or not as one does; the action may have been done. */
export type ActOutcome = "Done" | "Conflict" | "Refused" | "Failed";

/** Each comes with the time at which it was over. */
export type StepResult =
  | { readonly step: "Act"; readonly outcome: ActOutcome; readonly now: Date }
  | { readonly step: "Evict"; readonly outcome: EvictionOutcome; readonly now: Date }
  | { readonly step: "Read"; readonly register?: DeschedulingRegister; readonly now: Date };
