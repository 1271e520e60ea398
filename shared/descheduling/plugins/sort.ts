/**
 * The order in which plugins look at nodes and nominate pods.
 *
 * Upstream leaves ties to the order of its cache, which is random. Here the name decides, so that the same cluster gives the same
 * nominations.
 */
import type { CommonArguments } from "./arguments.ts";
import type { DeschedulerNode, DeschedulerPod } from "./facts.ts";
import type { PluginWorld } from "./plugin.ts";

export type Order<T> = (a: T, b: T) => number;

/** Ascending by the value that `read` gives. */
export function by<T>(read: (item: T) => number | string): Order<T> {
  return (a, b) => {
    const [x, y] = [read(a), read(b)];
    if (x === y) return 0;
    return x < y ? -1 : 1;
  };
}

/** A later level decides only between items that all earlier levels call equal. */
export function inLevels<T>(...levels: readonly Order<T>[]): Order<T> {
  return (a, b) => levels.reduce((order, level) => order || level(a, b), 0);
}

export const byNodeName: Order<DeschedulerNode> = by((node) => node.name);

const BY_POD_NAME: readonly Order<DeschedulerPod>[] = [by((pod) => pod.namespace), by((pod) => pod.name)];

/** Pods whose evacuation is in progress come first, so that they count before another pod is requested. */
export function podOrder(
  { sort }: CommonArguments,
  world: Pick<PluginWorld, "isInProgress">,
  ...own: readonly Order<DeschedulerPod>[]
): Order<DeschedulerPod> {
  const inProgressFirst: Order<DeschedulerPod> = by((pod) => (world.isInProgress(pod) ? 0 : 1));
  return inLevels(...(sort ? [inProgressFirst] : []), ...own, ...BY_POD_NAME);
}
