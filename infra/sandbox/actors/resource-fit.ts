/** Determines whether a node has the resources that a pod requests. */
import { parseQuantity } from "./quantity.ts";
import type { Node, Pod } from "./resources.ts";

const MEASURED = ["cpu", "memory"] as const;
export type Measured = (typeof MEASURED)[number];

const DEFAULT_POD_LIMIT = 110;

/** Caches the sum of each pod's requests. A changed pod is a new object, so the cache is never stale. */
const sums = new WeakMap<Pod, Readonly<Record<Measured, number>>>();

/**
 * Returns the largest amount of a resource that the pod requests at one time. Init containers run one after another.
 * Sidecars continue to run with all later containers.
 */
export function requestOf(pod: Pod, resource: Measured): number {
  let known = sums.get(pod);
  if (known === undefined) {
    known = { cpu: sumOf(pod, "cpu"), memory: sumOf(pod, "memory") };
    sums.set(pod, known);
  }
  return known[resource];
}

function sumOf({ spec }: Pod, resource: string): number {
  const of = ({ resources }: { resources?: { requests?: Record<string, string> } }) =>
    parseQuantity(resources?.requests?.[resource] ?? 0);
  let [sidecars, most] = [0, 0];
  for (const container of spec?.initContainers ?? []) {
    if (container.restartPolicy === "Always") sidecars += of(container);
    else most = Math.max(most, sidecars + of(container));
  }
  const together = (spec?.containers ?? []).reduce((sum, container) => sum + of(container), sidecars);
  return Math.max(together, most) + parseQuantity(spec?.overhead?.[resource] ?? 0);
}

/** Returns kube-scheduler's message about a resource that the node lacks. Returns undefined if the pod fits. */
export function whatIsShort(pod: Pod, { status }: Node, neighbours: readonly Pod[]): string | undefined {
  const { allocatable = {} } = status ?? {};
  if (neighbours.length >= Number(allocatable["pods"] ?? DEFAULT_POD_LIMIT)) return "Too many pods";
  const isShort = (resource: string, requested: (one: Pod) => number) => {
    const wanted = requested(pod);
    const taken = () => neighbours.reduce((sum, neighbour) => sum + requested(neighbour), 0);
    return wanted > 0 && inThousandths(taken() + wanted) > inThousandths(parseQuantity(allocatable[resource] ?? 0));
  };
  const short =
    MEASURED.find((resource) => isShort(resource, (one) => requestOf(one, resource))) ??
    othersOf(pod).find((resource) => isShort(resource, (one) => sumOf(one, resource)));
  return short && `Insufficient ${short}`;
}

/** Rounds to thousandths, because sums of binary fractions are inexact. */
function inThousandths(amount: number): number {
  return Math.round(amount * 1000);
}

function othersOf({ spec }: Pod): readonly string[] {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const names = containers.flatMap(({ resources }) => Object.keys(resources?.requests ?? {}));
  return [...new Set(names)].filter((name) => !MEASURED.some((one) => one === name));
}
