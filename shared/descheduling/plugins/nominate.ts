/** Nominates pods for plugins: selects pods with the plugin's arguments, sorts the pods, and obeys limits. */
import * as z from "zod/mini";
import type { LabelSelector } from "../../kube/facts.ts";
import { matches } from "../../kube/objects.ts";
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";
import { Namespaces, SelectorArgument } from "./fields.ts";
import type { Nomination, Nominations, PluginWorld } from "./plugin.ts";
import { type Order, podOrder, type Sorting, sorting } from "./sort.ts";

export const selection = {
  namespaces: z.exactOptional(Namespaces),
  labelSelector: z.exactOptional(SelectorArgument),
  ...sorting,
};

export interface PodSelection extends Sorting {
  readonly namespaces?: { readonly include?: readonly string[]; readonly exclude?: readonly string[] };
  readonly labelSelector?: LabelSelector;
}

export interface NominationRule {
  readonly args: PodSelection;
  readonly world: PluginWorld;
  /** Returns the nomination of the pod. Returns undefined if the pod need not leave. */
  readonly nominationOf: (pod: ScheduledPod) => Nomination | undefined;
}

/** Yields nominations of the pods that should leave and may be evicted, sorted by `podOrder`. */
export function* nominationsAmong(
  pods: readonly ScheduledPod[],
  { args, world, nominationOf }: NominationRule,
  ...order: readonly Order<ScheduledPod>[]
): Generator<Nomination> {
  const leaving = pods.flatMap((pod) => {
    const nomination = nominationOf(pod);
    return nomination !== undefined && isSelected(args, pod) && world.evictor.filter(pod) ? [nomination] : [];
  });
  const compare = podOrder(args, world, ...order);
  for (const nomination of leaving.toSorted((a, b) => compare(a.pod, b.pod))) {
    if (world.evictor.preEvictionFilter(nomination.pod)) yield nomination;
  }
}

/** Returns whether the arguments select the pod. An undefined or empty list selects every pod. */
export function isSelected({ namespaces, labelSelector }: PodSelection, pod: ScheduledPod): boolean {
  const { include = [], exclude = [] } = namespaces ?? {};
  if (include.length > 0 && !include.includes(pod.namespace)) return false;
  if (exclude.includes(pod.namespace)) return false;
  return labelSelector === undefined || matches(labelSelector, pod.labels);
}

/**
 * Nominates the pods of one node after another. The verdict `NodeLimit` skips the node's remaining pods. The verdict
 * `TotalLimit` skips all remaining pods.
 */
export function* nominateInGroups(groups: Iterable<Iterable<Nomination>>): Nominations {
  for (const group of groups) {
    for (const nomination of group) {
      const verdict = yield nomination;
      if (verdict === "TotalLimit") return;
      if (verdict === "NodeLimit") break;
    }
  }
}

/** Returns a function that computes the value only once for all items with the same key. */
export function oncePer<T, V>(keyOf: (item: T) => string, compute: (item: T) => V): (item: T) => V {
  const known = new Map<string, { readonly value: V }>();
  return (item) => {
    const key = keyOf(item);
    const entry = known.get(key) ?? { value: compute(item) };
    known.set(key, entry);
    return entry.value;
  };
}
