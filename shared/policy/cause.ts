/**
 * Why a virtual machine is moved: recorded on the VMI, on its migrations, in Events and in the log.
 * Owns: the list of causes and how urgent each is. Does not own: recognising them (the policy of each door).
 */
import { DESCHEDULER, REQUESTED_BY_ANNOTATION } from "./names.ts";

export const CAUSES = [
  "ApiEviction",
  "Descheduler",
  "Preemption",
  "NoExecuteTaint",
  "NodePressure",
  "DrainTaint",
  "Operator",
] as const;

export type Cause = (typeof CAUSES)[number];

/** Value of the label on an evacuating VMI; a MigrationPolicy selects the urgent ones. */
export type Urgency = "normal" | "urgent";

export const URGENCY = {
  ApiEviction: "normal",
  Descheduler: "normal",
  Preemption: "urgent",
  NoExecuteTaint: "normal",
  NodePressure: "urgent",
  DrainTaint: "normal",
  Operator: "normal",
} as const satisfies Record<Cause, Urgency>;

/** Whether the pod is to go by an eviction request, which a budget can refuse; the others delete or kill. */
export const ASKS_TO_EVICT = {
  ApiEviction: true,
  Descheduler: true,
  Preemption: false,
  NoExecuteTaint: false,
  NodePressure: false,
  DrainTaint: true,
  Operator: true,
} as const satisfies Record<Cause, boolean>;

/** The cause of an eviction request, by the annotations of the Eviction object. */
export function causeOfEviction(annotations: Readonly<Record<string, string>>): "ApiEviction" | "Descheduler" {
  return annotations[REQUESTED_BY_ANNOTATION] === DESCHEDULER ? "Descheduler" : "ApiEviction";
}
