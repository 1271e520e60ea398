/**
 * Affinity and anti-affinity between pods: which topology domains one pod may be in, beside those that are there. Upstream: plugin
 * InterPodAffinity of kube-scheduler.
 */
import { ownValue } from "../kube/own-value.ts";
import type { Labels, PodTerm } from "../kube/placement.ts";
import { matches } from "../kube/selector.ts";
import type { NeighbourPod, PreflightNode, PreflightPod } from "./facts.ts";

/** For one pod: whether something is in its way on a node. */
export interface Near {
  readonly lacks: (node: PreflightNode) => boolean;
  readonly repels: (node: PreflightNode) => boolean;
}

type Named = Pick<NeighbourPod, "namespace" | "labels">;

/** `there`: without ended pods; `nodes`: every one, the drained one included. */
export function nearOf(pod: PreflightPod, there: readonly NeighbourPod[], nodes: readonly PreflightNode[]): Near {
  const known = new Map(nodes.map(({ name, labels }) => [name, labels]));
  const labelsOf = (name: string) => known.get(name) ?? {};
  const wanted = wantedDomains(pod, there, labelsOf);
  const unwanted = unwantedDomains(pod, there, labelsOf);
  return {
    lacks: ({ labels }) => pod.affinity.some(({ topologyKey }, i) => !isIn(wanted[i], ownValue(labels, topologyKey))),
    repels: ({ labels }) => [...unwanted].some(([key, values]) => values.has(ownValue(labels, key) ?? "")),
  };
}

/** Per term of its affinity; `Anywhere`: the pod is the first of a group that it belongs to itself. */
type Wanted = ReadonlySet<string> | "Anywhere";

function isIn(wanted: Wanted | undefined, value: string | undefined): boolean {
  return value !== undefined && (wanted === "Anywhere" || wanted?.has(value) === true);
}

function wantedDomains(
  pod: PreflightPod,
  present: readonly NeighbourPod[],
  labelsOf: (node: string) => Labels,
): readonly Wanted[] {
  if (pod.affinity.length === 0) return [];
  // A neighbour counts only if every term selects it.
  const group = present.filter((other) => pod.affinity.every((term) => selects(term, pod, other)));
  const domains = pod.affinity.map(
    ({ topologyKey }) => new Set(group.flatMap((p) => ownValue(labelsOf(p.nodeName), topologyKey) ?? [])),
  );
  const isFirst = domains.every(({ size }) => size === 0) && pod.affinity.every((term) => selects(term, pod, pod));
  return isFirst ? pod.affinity.map(() => "Anywhere") : domains;
}

/** Values by topology key: those of pods that this one must not be near, and of those that must not be near this one. */
function unwantedDomains(
  pod: PreflightPod,
  present: readonly NeighbourPod[],
  labelsOf: (node: string) => Labels,
): ReadonlyMap<string, ReadonlySet<string>> {
  const domains = new Map<string, Set<string>>();
  for (const other of present) {
    if (pod.antiAffinity.length + other.antiAffinity.length === 0) continue;
    const own = pod.antiAffinity.filter((term) => selects(term, pod, other));
    const its = other.antiAffinity.filter((term) => selects(term, other, pod));
    for (const { topologyKey } of [...own, ...its]) {
      const value = ownValue(labelsOf(other.nodeName), topologyKey);
      if (value !== undefined) domains.set(topologyKey, (domains.get(topologyKey) ?? new Set()).add(value));
    }
  }
  return domains;
}

function selects({ namespaces, allNamespaces, selector }: PodTerm, owner: Named, other: Named): boolean {
  const isThere = namespaces.length === 0 ? other.namespace === owner.namespace : namespaces.includes(other.namespace);
  return (allNamespaces === true || isThere) && matches(selector, other.labels);
}
