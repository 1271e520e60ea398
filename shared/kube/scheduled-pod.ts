/**
 * Defines a scheduled pod with all fields that preflights and descheduling read. Pods share equal parts to save memory.
 */
import type { LabelSelector, NodeFacts, PodFacts } from "./facts.ts";

/**
 * Amounts of resources. `cpu` is in millicores, and every other resource is in whole units, such as bytes. Amounts are
 * rounded up, as in Kubernetes.
 */
export type Resources = Readonly<Record<string, number>>;

export type Labels = Readonly<Record<string, string>>;

/**
 * One requirement of a node selector term (core/v1 NodeSelectorRequirement). For Gt and Lt, `values` contains one
 * integer.
 */
export interface NodeRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/**
 * All requirements must match. The only field in `matchFields` is `metadata.name`. A term without requirements matches
 * nothing.
 */
export interface NodeSelectorTerm {
  readonly matchExpressions: readonly NodeRequirement[];
  readonly matchFields: readonly NodeRequirement[];
}

export interface NodeRequirements {
  readonly nodeSelector: Labels;
  readonly required?: readonly NodeSelectorTerm[];
}

/** A required anti-affinity term. The selected pods must not be in the same topology domain. */
export interface PodTerm {
  readonly topologyKey: string;
  /** The namespaces of the selected pods. An empty list means the pod's own namespace unless `allNamespaces` is set. */
  readonly namespaces: readonly string[];
  readonly allNamespaces?: boolean;
  readonly selector?: LabelSelector;
}

/** A topology spread constraint. The selected pods are spread over the values of a node label. */
export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
  readonly selector?: LabelSelector;
  readonly matchLabelKeys: readonly string[];
  /** The policy for node affinity. If absent, only nodes that match the pod's node affinity are considered. */
  readonly nodeAffinityPolicy?: string;
  readonly nodeTaintsPolicy?: string;
  readonly minDomains?: number;
}

/** The fields of a pod with which kube-scheduler scores nodes. */
export interface PlacementTerms {
  /** Required pod affinity. If these terms select a new pod, kube-scheduler prefers nodes near this pod. */
  readonly near: readonly PodTerm[];
  /** Preferred pod affinity. Anti-affinity has a negative weight. */
  readonly preferred: readonly (PodTerm & { readonly weight: number })[];
  readonly nodes: readonly { readonly weight: number; readonly term: NodeSelectorTerm }[];
  readonly spread: readonly SpreadConstraint[];
  /** The requests that kube-scheduler assumes for containers without requests. */
  readonly assumed: Resources;
}

export type QosClass = "BestEffort" | "Burstable" | "Guaranteed";

export interface ScheduledNode extends NodeFacts {
  readonly labels: Labels;
  readonly allocatable: Resources;
}

/** `annotations` contains only annotations that names.ts defines. */
export interface ScheduledPod extends PodFacts {
  readonly nodeName: string;
  readonly createdAt: number;
  readonly qosClass: QosClass;
  /** The pod's requests, including init containers, sidecars and overhead. The resource `pods` is not included. */
  readonly requests: Resources;
  readonly placement: NodeRequirements;
  readonly antiAffinity: readonly PodTerm[];
  readonly spread?: readonly SpreadConstraint[];
  readonly localStorage: boolean;
  readonly claims: readonly string[];
  /** The claims that Kubernetes creates and deletes with the pod. */
  readonly ephemeralClaims?: readonly string[];
  readonly hasResourceClaims: boolean;
}
