/** Affinity and anti-affinity between pods. Required terms forbid nodes, and preferred terms score nodes. */
import { matchesSelector, type Labels } from "../labels.ts";
import type { Node, Pod } from "./resources.ts";
import type { Placed } from "./topology-spread.ts";

type Affinity = NonNullable<NonNullable<Pod["spec"]>["affinity"]>;
type Term = NonNullable<NonNullable<Affinity["podAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]>[number];

interface Resident {
  readonly pod: Pod;
  readonly labels: Labels;
}

/**
 * Returns whether an affinity term of the pod `owner` selects the pod `other`. Every namespaceSelector selects all
 * namespaces, because the labels of namespaces are unknown.
 */
function concerns(term: Term, owner: Pod, other: Pod): boolean {
  const { namespace = "" } = other.metadata;
  const named = term.namespaces ?? [];
  const isOwn = named.length === 0 && term.namespaceSelector === undefined && namespace === owner.metadata.namespace;
  const isThere = isOwn || named.includes(namespace) || term.namespaceSelector !== undefined;
  return (
    isThere && term.labelSelector !== undefined && matchesSelector(term.labelSelector, other.metadata.labels ?? {})
  );
}

function inSameDomain({ topologyKey }: Term, a: Labels, b: Labels): boolean {
  const value = a[topologyKey];
  return value !== undefined && value === b[topologyKey];
}

const repelledBy = ({ spec }: Pod): readonly Term[] =>
  spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];

/** Returns why affinity forbids the node, in kube-scheduler's words. Returns undefined if affinity allows the node. */
export function whatIsNear(pod: Pod, { metadata }: Node, placed: readonly Placed[]): string | undefined {
  const labels = metadata.labels ?? {};
  const residents = placed.map((one) => ({ pod: one.pod, labels: one.node.metadata.labels ?? {} }));
  const wanted = pod.spec?.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  if (wanted.length > 0 && !isNearEnough(pod, wanted, { labels, residents })) {
    return "node(s) didn't match pod affinity rules";
  }
  const keepsAway = (owner: Pod, other: Pod, there: Labels) =>
    repelledBy(owner).some((term) => concerns(term, owner, other) && inSameDomain(term, labels, there));
  if (residents.some((other) => keepsAway(pod, other.pod, other.labels))) {
    return "node(s) didn't match pod anti-affinity rules";
  }
  const isUnwanted = residents.some((other) => keepsAway(other.pod, pod, other.labels));
  return isUnwanted ? "node(s) didn't satisfy existing pods anti-affinity rules" : undefined;
}

interface Place {
  readonly labels: Labels;
  readonly residents: readonly Resident[];
}

/**
 * Returns whether the node meets the required affinity terms. If a pod matches its own terms and no other pod matches
 * them, every node with the topology labels is allowed.
 */
function isNearEnough(pod: Pod, terms: readonly Term[], { labels, residents }: Place): boolean {
  if (terms.some(({ topologyKey }) => labels[topologyKey] === undefined)) return false;
  const group = residents.filter((other) => terms.every((term) => concerns(term, pod, other.pod)));
  if (terms.every((term) => group.some((other) => inSameDomain(term, labels, other.labels)))) return true;
  const isAnyInADomain = group.some((other) =>
    terms.some(({ topologyKey }) => other.labels[topologyKey] !== undefined),
  );
  return !isAnyInADomain && terms.every((term) => concerns(term, pod, pod));
}

/**
 * Returns the affinity score of a node for `pod`. Considers only other pods in the node's topology domains. Adds the
 * weights of the preferred terms of `pod` that select such a pod. Also adds the weights of the other pods' terms that
 * select `pod`. Anti-affinity has a negative weight. A required affinity term has weight 1, kube-scheduler's default
 * `hardPodAffinityWeight`.
 */
export function attractionOf(pod: Pod, { metadata }: Node, placed: readonly Placed[]): number {
  const { labels = {} } = metadata;
  const attracts = (owner: Pod, other: Pod, there: Labels) =>
    preferencesOf(owner).reduce(
      (sum, { term, weight }) => sum + (concerns(term, owner, other) && inSameDomain(term, labels, there) ? weight : 0),
      0,
    );
  return placed.reduce((sum, { pod: other, node }) => {
    const there = node.metadata.labels ?? {};
    const required = other.spec?.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const wanted = required.filter((term) => concerns(term, other, pod) && inSameDomain(term, labels, there)).length;
    return sum + attracts(pod, other, there) + attracts(other, pod, there) + wanted;
  }, 0);
}

function preferencesOf({ spec }: Pod): readonly { readonly term: Term; readonly weight: number }[] {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  const near = podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const far = podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return [
    ...near.map(({ podAffinityTerm, weight }) => ({ term: podAffinityTerm, weight })),
    ...far.map(({ podAffinityTerm, weight }) => ({ term: podAffinityTerm, weight: -weight })),
  ];
}
