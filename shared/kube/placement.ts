/** What a pod asks of the node that it runs on, and of the pods near it: the narrow views that fitting it needs. */
import type { LabelSelector } from "./facts.ts";

/** By resource name: `cpu` in millicores, `memory` and the like in bytes, others in pieces. Rounded up, as Kubernetes does. */
export type Resources = Readonly<Record<string, number>>;

export type Labels = Readonly<Record<string, string>>;

/** One requirement of a node selector term (core/v1 NodeSelectorRequirement); `values` of Gt and Lt hold one integer. */
export interface NodeRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** Requirements on labels and on fields (`metadata.name` only) are ANDed; a term without any matches nothing. */
export interface NodeSelectorTerm {
  readonly matchExpressions: readonly NodeRequirement[];
  readonly matchFields: readonly NodeRequirement[];
}

/** What a pod asks of the node it runs on. */
export interface Placement {
  readonly nodeSelector: Labels;
  /** Terms are ORed; absent: no requirement. */
  readonly required?: readonly NodeSelectorTerm[];
}

/** A constraint that forbids a domain in which there would be more than `maxSkew` pods more than in the emptiest one. */
export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  /** With fewer domains than that the emptiest one counts as empty. */
  readonly minDomains: number;
  /** Absent: selects nothing. */
  readonly selector?: LabelSelector;
  /** Nodes count only if the pod's node affinity, its tolerations allow them. */
  readonly honorsAffinity: boolean;
  readonly honorsTaints: boolean;
}

/** A required affinity or anti-affinity term: pods that it selects must, or must not, be in the same topology domain. */
export interface PodTerm {
  readonly topologyKey: string;
  /** Empty: the pod's own, unless `allNamespaces`. */
  readonly namespaces: readonly string[];
  readonly allNamespaces?: boolean;
  /** Absent: selects nothing. */
  readonly selector?: LabelSelector;
}
