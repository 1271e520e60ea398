/**
 * Finds pods by their labels, fast enough for ten thousand pods. Finds the pods that match a selector, and the pods
 * whose affinity terms match a given pod.
 */
import type { LabelSelector } from "../kube/facts.ts";
import type { Labels, PodTerm } from "../kube/scheduled-pod.ts";
import type { NeighbourPod } from "./facts.ts";

/**
 * Finds pods that may match, so the caller has to check each pod. Pods are never removed, because several simulations
 * share one directory, and a pod can be gone in only some of them.
 */
export interface Directory {
  add(pod: NeighbourPod): void;
  /** Returns the UIDs of pods that may match the selector. Returns undefined if any pod may match. */
  selectedBy(selector: LabelSelector | undefined): Iterable<string> | undefined;
  /** Returns the UIDs of pods whose anti-affinity may exclude a pod with these labels. */
  avoiding(labels: Labels): Iterable<string>;
  /** Returns the UIDs of pods that may prefer to run near a pod with these labels, or away from it. */
  drawnTo(labels: Labels): Iterable<string>;
  siblingsIn(replicaSet: string): Iterable<string>;
}

type Groups = Map<string, Set<string>>;

export function createDirectory(): Directory {
  const known = new Map<string, NeighbourPod>();
  const [labelled, avoiding, drawn, siblings]: [Groups, Groups, Groups, Groups] = [
    new Map(),
    new Map(),
    new Map(),
    new Map(),
  ];
  return {
    add(pod) {
      const before = known.get(pod.uid);
      if (before !== undefined && isAlike(pod, before)) return;
      known.set(pod.uid, pod);
      for (const [key, value] of Object.entries(pod.labels)) addTo(labelled, `${key}=${value}`, pod.uid);
      addTerms(avoiding, pod.antiAffinity, pod.uid);
      addTerms(drawn, pod.placementTerms?.near, pod.uid);
      addTerms(drawn, pod.placementTerms?.preferred, pod.uid);
      if (pod.replicaSet !== undefined) addTo(siblings, pod.replicaSet, pod.uid);
    },
    selectedBy(selector) {
      if (selector === undefined) return [];
      const keys = keysOf(selector);
      if (keys === undefined) return undefined;
      const [key = ""] = keys;
      return keys.length === 1 ? (labelled.get(key) ?? []) : union(labelled, keys);
    },
    avoiding: (labels) => selecting(avoiding, labels),
    drawnTo: (labels) => selecting(drawn, labels),
    siblingsIn: (replicaSet) => siblings.get(replicaSet) ?? [],
  };
}

/**
 * Returns true if both pods have the same labels and affinity terms, for example if both are the same pod before and
 * after a simulated move.
 */
function isAlike(a: NeighbourPod, b: NeighbourPod): boolean {
  return a.labels === b.labels && a.antiAffinity === b.antiAffinity && a.placementTerms === b.placementTerms;
}

function addTo(groups: Groups, key: string, uid: string): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, new Set([uid]));
  else group.add(uid);
}

/** The group of terms whose selector requires no particular label. These terms may match any pod. */
const ANY = "";

function addTerms(groups: Groups, terms: readonly PodTerm[] | undefined, uid: string): void {
  for (const { selector } of terms ?? [])
    if (selector !== undefined) for (const key of keysOf(selector) ?? [ANY]) addTo(groups, key, uid);
}

/**
 * Returns a list of labels. Every pod that matches the selector has at least one of these labels. Returns undefined if
 * the selector has neither a label nor an `In` expression.
 */
function keysOf({ matchLabels, matchExpressions }: LabelSelector): readonly string[] | undefined {
  for (const key in matchLabels) return [`${key}=${matchLabels[key]}`];
  const list = matchExpressions.find(({ operator }) => operator === "In");
  return list?.values.map((value) => `${list.key}=${value}`);
}

function selecting(groups: Groups, labels: Labels): Iterable<string> {
  if (groups.size === 0) return [];
  return union(groups, [ANY, ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)]);
}

function union(groups: Groups, keys: readonly string[]): Iterable<string> {
  const found = keys.flatMap((key) => groups.get(key) ?? []);
  return found.length === 1 ? (found[0] ?? []) : new Set(found.flatMap((group) => [...group]));
}
