/**
 * A pod that is bound to a node, with all that it asks of nodes: what preflights and descheduling decide on.
 *
 * A Worker holds fifty thousand of them, so there is nothing in here that no decision reads, and what many pods have in common
 * (tolerations, selectors, empty lists) is one object for all of them.
 */
import type { AnnotatedPod } from "./facts.ts";
import type { NodeFacts, PodFacts } from "./facts.ts";
import type { Labels, Placement, PodTerm, Resources } from "./placement.ts";

export type QosClass = "BestEffort" | "Burstable" | "Guaranteed";

export interface ScheduledNode extends NodeFacts {
  readonly labels: Labels;
  /** `status.allocatable`, else `status.capacity`. */
  readonly allocatable: Resources;
}

/** `annotations` holds only those that names.ts lists, and what kubelets mark pods with. */
export interface ScheduledPod extends PodFacts, AnnotatedPod {
  readonly nodeName: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly qosClass: QosClass;
  /** Of the pod as the scheduler counts them: containers, init containers, sidecars, overhead. Without `pods`. */
  readonly requests: Resources;
  readonly placement: Placement;
  readonly antiAffinity: readonly PodTerm[];
  /** Has an emptyDir or a hostPath. */
  readonly localStorage: boolean;
  /** Names of its PersistentVolumeClaims. */
  readonly claims: readonly string[];
  readonly hasResourceClaims: boolean;
}
