/**
 * A bound pod with all fields that preflights and descheduling read. A Worker can hold fifty thousand pods, because
 * equal parts share one object.
 */
import type { LabelSelector, NodeFacts, PodFacts } from "./facts.ts";

/**
 * Amounts of resources, by name: `cpu` in millicores, and every other resource in whole units, such as bytes. Amounts
 * are rounded up, as in Kubernetes.
 */
export type Resources = Readonly<Record<string, number>>;

export type Labels = Readonly<Record<string, string>>;

/**
 * One requirement of a node selector term (core/v1 NodeSelectorRequirement); `values` of Gt and Lt hold one integer.
 */
export interface NodeRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** Requirements (on fields: only `metadata.name`) are ANDed; a term without requirements matches nothing. */
export interface NodeSelectorTerm {
  readonly matchExpressions: readonly NodeRequirement[];
  readonly matchFields: readonly NodeRequirement[];
}

export interface NodeRequirements {
  readonly nodeSelector: Labels;
  readonly required?: readonly NodeSelectorTerm[];
}

/** A required anti-affinity term: pods that it selects must not be in the same topology domain. */
export interface PodTerm {
  readonly topologyKey: string;
  /** The namespaces of the selected pods. Empty: the pod's own namespace, unless `allNamespaces` is set. */
  readonly namespaces: readonly string[];
  readonly allNamespaces?: boolean;
  readonly selector?: LabelSelector;
}

/** A topology spread constraint: the pods that it selects are spread over the domains of a node label. */
export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
  readonly selector?: LabelSelector;
  readonly matchLabelKeys: readonly string[];
  /**
   * The policy for node affinity. Absent: nodes that the pod's node affinity excludes are not counted. The policy for
   * taints is not read.
   */
  readonly nodeAffinityPolicy?: string;
  readonly nodeTaintsPolicy?: string;
  readonly minDomains?: number;
}

/** The fields of a pod by which kube-scheduler chooses among suitable nodes and spreads pods. */
export interface PlacementTerms {
  /**
   * Required pod affinity. If the terms of a running pod select a new pod, kube-scheduler prefers the running pod's
   * node for the new pod.
   */
  readonly near: readonly PodTerm[];
  /** Preferred pod affinity; anti-affinity has a negative weight. */
  readonly preferred: readonly (PodTerm & { readonly weight: number })[];
  readonly nodes: readonly { readonly weight: number; readonly term: NodeSelectorTerm }[];
  readonly spread: readonly SpreadConstraint[];
  /** Requests that kube-scheduler assumes for containers without requests. */
  readonly assumed: Resources;
}

export type QosClass = "BestEffort" | "Burstable" | "Guaranteed";

export interface ScheduledNode extends NodeFacts {
  readonly labels: Labels;
  readonly allocatable: Resources;
}

/** `annotations` contains only the annotations in names.ts and the kubelet's annotations. */
export interface ScheduledPod extends PodFacts {
  readonly nodeName: string;
  readonly createdAt: number;
  readonly qosClass: QosClass;
  /**
   * The pod's requests as the scheduler counts them: containers, init containers, sidecars, overhead. The resource
   * `pods` is not included.
   */
  readonly requests: Resources;
  readonly placement: NodeRequirements;
  readonly antiAffinity: readonly PodTerm[];
  /** The spread constraints. Absent: none. */
  readonly spread?: readonly SpreadConstraint[];
  readonly localStorage: boolean;
  readonly claims: readonly string[];
  /** Claims that Kubernetes creates and deletes with the pod. The pod's replacement gets new claims. */
  readonly ephemeralClaims?: readonly string[];
  readonly hasResourceClaims: boolean;
}
