/**
 * Sorts pods by three criteria: whether the eviction is in progress, the sorters in the arguments, and the plugin's own
 * order (KEP-1397).
 */
import * as z from "zod/mini";
import type { QosClass, ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";
import { listArgument, optionalFlag } from "./fields.ts";
import type { PluginWorld } from "./plugin.ts";
import { PLUGIN_MESSAGES as MESSAGES } from "./messages.ts";

export type Order<T> = (a: T, b: T) => number;

/** Returns an order that is ascending by the value that `read` returns. */
export function by<T>(read: (item: T) => number | string): Order<T> {
  return (a, b) => {
    const [x, y] = [read(a), read(b)];
    if (x === y) return 0;
    return x < y ? -1 : 1;
  };
}

/** Combines several orders. A later order is used only if all earlier orders treat two items as equal. */
export function inLevels<T>(...levels: readonly Order<T>[]): Order<T> {
  return (a, b) => levels.reduce((order, level) => order || level(a, b), 0);
}

/** Sorts nodes by name, so that the same cluster gives the same nominations. Upstream does not sort nodes. */
export const byNodeName: Order<ScheduledNode> = by((node) => node.name);

const BY_POD_NAME: readonly Order<ScheduledPod>[] = [by((pod) => pod.namespace), by((pod) => pod.name)];

const QOS_ORDER: Readonly<Record<QosClass, number>> = { BestEffort: 0, Burstable: 1, Guaranteed: 2 };

export const SORTERS = {
  LowestPriority: by(({ priority }) => priority ?? -Infinity),
  LowestQoS: by(({ qosClass }) => QOS_ORDER[qosClass]),
  Oldest: by(({ createdAt }) => createdAt),
  Youngest: by(({ createdAt }) => -createdAt),
  LeastMemory: by(({ requests }) => requests["memory"] ?? 0),
} as const satisfies Record<string, Order<ScheduledPod>>;
type Sorter = keyof typeof SORTERS;

const NAMES = Object.keys(SORTERS).filter(isSorter);

function isSorter(name: string): name is Sorter {
  return Object.hasOwn(SORTERS, name);
}

export const sorting = {
  inProgressFirst: optionalFlag,
  sorters: z.exactOptional(listArgument(z.enum(NAMES, MESSAGES.oneOf(NAMES)))),
};

export interface Sorting {
  /** Whether pods with an eviction in progress come first. The default is true. */
  readonly inProgressFirst?: boolean;
  readonly sorters?: readonly Sorter[];
}

/**
 * Returns the order in which pods are nominated. By default, pods with an eviction in progress come first, because the
 * limits already count them.
 */
export function podOrder(
  { inProgressFirst = true, sorters = [] }: Sorting,
  { isInProgress }: Pick<PluginWorld, "isInProgress">,
  ...own: readonly Order<ScheduledPod>[]
): Order<ScheduledPod> {
  const first = by((pod: ScheduledPod) => (inProgressFirst && isInProgress(pod) ? 0 : 1));
  return inLevels(first, ...sorters.map((name) => SORTERS[name]), ...own, ...BY_POD_NAME);
}
