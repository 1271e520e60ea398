/**
 * In which order nodes are looked at and pods nominated.
 * Owns: comparing in several levels, and the levels that all plugins have in common. Does not own: a plugin's own order.
 *
 * Upstream leaves ties, and where it does not sort everything, to the order of its cache, which is none. Here the name
 * decides: the same cluster gives the same nominations.
 */
import type { CommonArguments } from "./arguments.ts";
import type { DeschedulerNode, DeschedulerPod } from "./facts.ts";
import type { PluginWorld } from "./plugin.ts";

export type Order<T> = (a: T, b: T) => number;

/** Ascending by what is read from each. */
export function by<T>(read: (item: T) => number | string): Order<T> {
  return (a, b) => {
    const [x, y] = [read(a), read(b)];
    if (x === y) return 0;
    return x < y ? -1 : 1;
  };
}

/** Each level decides what all before it leave open. */
export function inLevels<T>(...levels: readonly Order<T>[]): Order<T> {
  return (a, b) => {
    for (const level of levels) {
      const order = level(a, b);
      if (order !== 0) return order;
    }
    return 0;
  };
}

export const byNodeName: Order<DeschedulerNode> = by((node) => node.name);

const BY_POD_NAME: readonly Order<DeschedulerPod>[] = [by((pod) => pod.namespace), by((pod) => pod.name)];

/** Pods that are on their way already come first, so that they count before any other is asked to go. */
export function podOrder(
  { sort }: CommonArguments,
  world: Pick<PluginWorld, "isInProgress">,
  ...own: readonly Order<DeschedulerPod>[]
): Order<DeschedulerPod> {
  const inProgressFirst: Order<DeschedulerPod> = by((pod) => (world.isInProgress(pod) ? 0 : 1));
  return inLevels(...(sort ? [inProgressFirst] : []), ...own, ...BY_POD_NAME);
}
