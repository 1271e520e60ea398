/**
 * Whether a node has the resources that a pod requests: cpu, memory, and the number of pods.
 * Owns: that arithmetic. Does not own: every other reason for or against a node (node-fit.ts).
 */
import { parseQuantity } from "./quantity.ts";
import type { Node, Pod } from "./resources.ts";

export const MEASURED = ["cpu", "memory"] as const;
export type Measured = (typeof MEASURED)[number];

const DEFAULT_POD_LIMIT = 110;

/** Watched objects never change, so a sum can be cached. */
const sums = new WeakMap<Pod, Readonly<Record<Measured, number>>>();

/** Init containers run one after another, before the others. */
export function requestOf(pod: Pod, resource: Measured): number {
  let known = sums.get(pod);
  if (known === undefined) {
    known = { cpu: sumOf(pod, "cpu"), memory: sumOf(pod, "memory") };
    sums.set(pod, known);
  }
  return known[resource];
}

function sumOf({ spec }: Pod, resource: Measured): number {
  const each = (containers: readonly { resources?: { requests?: Record<string, string> } }[] = []) =>
    containers.map(({ resources }) => parseQuantity(resources?.requests?.[resource] ?? 0));
  const together = each(spec?.containers).reduce((sum, request) => sum + request, 0);
  return Math.max(together, ...each(spec?.initContainers)) + parseQuantity(spec?.overhead?.[resource] ?? 0);
}

/** In kube-scheduler's words; undefined if the pod fits. */
export function whatIsShort(pod: Pod, { status }: Node, neighbours: readonly Pod[]): string | undefined {
  const { allocatable = {} } = status ?? {};
  if (neighbours.length >= Number(allocatable["pods"] ?? DEFAULT_POD_LIMIT)) return "Too many pods";
  for (const resource of MEASURED) {
    const wanted = requestOf(pod, resource);
    if (wanted === 0) continue;
    const taken = neighbours.reduce((sum, neighbour) => sum + requestOf(neighbour, resource), 0);
    if (taken + wanted > parseQuantity(allocatable[resource] ?? 0)) return `Insufficient ${resource}`;
  }
  return undefined;
}
