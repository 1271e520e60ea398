/** Orders the pods that a kubelet evicts under pressure, and formats the message of an eviction. */
import type { Observation, Signal } from "./node-stats.ts";
import { priorityOf } from "./preemption-victims.ts";
import { limitOf, type Threshold } from "./pressure-thresholds.ts";
import { inKi } from "./quantity.ts";
import { requestOf } from "./resource-fit.ts";
import type { Pod } from "./resources.ts";

/** The kubelet never evicts a pod of at least this priority. */
const SYSTEM_CRITICAL = 2_000_000_000;

export const RESOURCE = {
  "memory.available": "memory",
  "nodefs.available": "ephemeral-storage",
  "pid.available": "pids",
} as const satisfies Record<Signal, string>;

type Usage = (pod: Pod) => number;

/**
 * Returns the pods in the order of their eviction. Under memory pressure, the criteria are, in this order: use above
 * the request, low priority, large excess over the request. Under disk pressure, the first criterion is a missing disk
 * request, and the second criterion is low priority. If process IDs are scarce, the only criterion is low priority.
 */
export function rank(pods: readonly Pod[], signal: Signal, memoryOf: Usage): readonly Pod[] {
  const excess = (pod: Pod) => {
    if (signal === "memory.available") return memoryOf(pod) - requestOf(pod, "memory");
    return signal === "nodefs.available" && !requestsDisk(pod) ? 1 : 0;
  };
  return pods
    .filter((pod) => !isCritical(pod))
    .toSorted(
      (a, b) => Number(excess(b) > 0) - Number(excess(a) > 0) || priorityOf(a) - priorityOf(b) || excess(b) - excess(a),
    );
}

function requestsDisk({ spec }: Pod): boolean {
  return (spec?.containers ?? []).some(({ resources }) => resources?.requests?.["ephemeral-storage"] !== undefined);
}

function isCritical(pod: Pod): boolean {
  return priorityOf(pod) >= SYSTEM_CRITICAL || pod.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined;
}

/** Formats the message of an eviction: `The node was low on resource: memory. Threshold quantity: …`. */
export function messageFor(pod: Pod, threshold: Threshold, observation: Observation, memoryOf: Usage): string {
  const { signal } = threshold;
  const resource = RESOURCE[signal];
  const limit = limitOf(threshold, observation);
  const amount = (value: number) => (signal === "pid.available" ? String(value) : inKi(value));
  const low = `The node was low on resource: ${resource}. `;
  const met = `Threshold quantity: ${amount(limit)}, available: ${amount(observation.available)}. `;
  const [container] = pod.spec?.containers ?? [];
  const [used, requested] = [memoryOf(pod), requestOf(pod, "memory")];
  if (signal !== "memory.available" || container === undefined || used <= requested) return low + met;
  const { name } = container;
  const uses = `Container ${name} was using ${inKi(used)}, request is ${inKi(requested)}`;
  return `${low}${met}${uses}, has larger consumption of ${resource}. `;
}
