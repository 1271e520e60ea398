/** Why a virtual machine is moved: recorded in the Evacuation, on its migrations, in Events and in the log. */
import { DESCHEDULER, REQUESTED_BY_ANNOTATION } from "./names.ts";

export const CAUSES = [
  "ApiEviction",
  "Descheduler",
  "Preemption",
  "NoExecuteTaint",
  "NodePressure",
  "DrainTaint",
  "Operator",
  "NodeTermination",
] as const;

export type Cause = (typeof CAUSES)[number];

/** `urgent`: the label on an evacuating VMI, by which a MigrationPolicy selects it. */
export type Urgency = "normal" | "urgent";

/**
 * `asksToEvict`: the pod is to go by an eviction request, which a budget can refuse; the others delete or kill. `mark`: KubeVirt's webhook
 * reviews the request itself (`OfRequest`), or is asked by Lifeboat; with the drain taint KubeVirt migrates VMs without a mark.
 */
export const CAUSE = {
  ApiEviction: { urgency: "normal", asksToEvict: true, mark: "OfRequest" },
  Descheduler: { urgency: "normal", asksToEvict: true, mark: "Asked" },
  Preemption: { urgency: "urgent", asksToEvict: false, mark: "Asked" },
  NoExecuteTaint: { urgency: "normal", asksToEvict: false, mark: "Asked" },
  NodePressure: { urgency: "urgent", asksToEvict: false, mark: "Asked" },
  DrainTaint: { urgency: "normal", asksToEvict: true, mark: "NotNeeded" },
  Operator: { urgency: "normal", asksToEvict: true, mark: "Asked" },
  NodeTermination: { urgency: "urgent", asksToEvict: false, mark: "Asked" },
} as const satisfies Record<Cause, CauseFacts>;

interface CauseFacts {
  readonly urgency: Urgency;
  readonly asksToEvict: boolean;
  readonly mark: "OfRequest" | "Asked" | "NotNeeded";
}

export const EVICTION_CAUSES = ["ApiEviction", "Descheduler"] as const satisfies readonly Cause[];

/** The cause of an eviction request, by the annotations of the Eviction object. */
export function causeOfEviction(annotations: Readonly<Record<string, string>>): (typeof EVICTION_CAUSES)[number] {
  return annotations[REQUESTED_BY_ANNOTATION] === DESCHEDULER ? "Descheduler" : "ApiEviction";
}
