/** How a plugin nominates that looks at all pods of a node. */
import { matches } from "../../policy/kube/selector.ts";
import type { PodSelection } from "./arguments.ts";
import type { DeschedulerPod } from "./facts.ts";
import type { Nomination, Nominations, PluginWorld } from "./plugin.ts";
import { type Order, podOrder } from "./sort.ts";

export interface Rule {
  readonly args: PodSelection;
  readonly world: PluginWorld;
  /** Undefined: the pod may stay. */
  readonly nominationOf: (pod: DeschedulerPod) => Nomination | undefined;
}

/** The pods that should leave and may be evicted, in order. */
export function* nominationsAmong(
  pods: readonly DeschedulerPod[],
  { args, world, nominationOf }: Rule,
  ...order: readonly Order<DeschedulerPod>[]
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

/** An argument that is absent, or an empty list, excludes no pod. */
function isSelected({ namespaces, labelSelector }: PodSelection, pod: DeschedulerPod): boolean {
  const { include = [], exclude = [] } = namespaces ?? {};
  if (include.length > 0 && !include.includes(pod.namespace)) return false;
  if (exclude.includes(pod.namespace)) return false;
  return labelSelector === undefined || matches(labelSelector, pod.labels);
}

/** Each group is about one node: the node's limit ends the group, the total limit ends the plugin. */
export function* nominateInGroups(groups: Iterable<Iterable<Nomination>>): Nominations {
  for (const group of groups) {
    for (const nomination of group) {
      const verdict = yield nomination;
      if (verdict === "TotalLimit") return;
      if (verdict === "NodeLimit") break;
    }
  }
}
