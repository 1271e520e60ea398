/** Whether a node has the resources that a pod requests: cpu, memory, hugepages, devices, and the number of pods. */
import { parseQuantity } from "./quantity.ts";
import type { Node, Pod } from "./resources.ts";

const MEASURED = ["cpu", "memory"] as const;
export type Measured = (typeof MEASURED)[number];

const DEFAULT_POD_LIMIT = 110;

/** Cached sums of requests. They stay valid, because a watched object is never changed in place. */
const sums = new WeakMap<Pod, Readonly<Record<Measured, number>>>();

/** Returns a pod's requests. Init containers run one after another, before the others; sidecars run from then on. */
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
  // Sidecars run beside every init container after them, and beside the containers.
  let [sidecars, most] = [0, 0];
  for (const container of spec?.initContainers ?? []) {
    if (container.restartPolicy === "Always") sidecars += of(container);
    else most = Math.max(most, sidecars + of(container));
  }
  const together = (spec?.containers ?? []).reduce((sum, container) => sum + of(container), sidecars);
  return Math.max(together, most) + parseQuantity(spec?.overhead?.[resource] ?? 0);
}

/** Returns the shortage in kube-scheduler's words, or undefined if the pod fits. */
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

/** Rounds to thousandths, because sums of binary fractions are inexact: 9m and 1m of CPU are 10m. */
function inThousandths(amount: number): number {
  return Math.round(amount * 1000);
}

/** Returns the other resources that the pod requests: hugepages, devices and the like. */
function othersOf({ spec }: Pod): readonly string[] {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const names = containers.flatMap(({ resources }) => Object.keys(resources?.requests ?? {}));
  return [...new Set(names)].filter((name) => !MEASURED.some((one) => one === name));
}
