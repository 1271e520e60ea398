/**
 * Computes the total requests and the QoS class of a pod. Upstream: component-helpers `PodRequests`, kubectl's
 * `ComputePodQOS`.
 */
import * as z from "zod/mini";
import type { PodTerm, QosClass, Resources } from "../scheduled-pod.ts";
import {
  listOf,
  milliQuantity,
  NodeTerm,
  present,
  Quantities,
  Selector,
  Text,
  TextsOrNone,
  Toleration,
} from "./fields.ts";

export const NodeAffinity = z.lazy(() =>
  z.nullish(
    z.object({
      requiredDuringSchedulingIgnoredDuringExecution: z.nullish(z.object({ nodeSelectorTerms: listOf(NodeTerm) })),
    }),
  ),
);

/** Pods with the same requirements share one object to save memory. */
export const PodRequirements = z.lazy(() =>
  z.pipe(
    z.object({ nodeSelector: TextsOrNone, nodeAffinity: NodeAffinity }),
    z.transform(({ nodeSelector, nodeAffinity }) => {
      const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
      return { nodeSelector, ...(required !== undefined && { required }) };
    }),
  ),
);

export const PodAffinityTerm = z.lazy(() =>
  z.object({
    topologyKey: z.string(),
    namespaces: listOf(z.string()),
    namespaceSelector: z.nullish(Selector),
    labelSelector: z.nullish(Selector),
  }),
);

/**
 * Converts a pod affinity term. A term with a `namespaceSelector` is treated as if it selected all namespaces, because
 * Lifeboat does not read the labels of namespaces.
 */
export function podTermOf(term: z.output<typeof PodAffinityTerm>): PodTerm {
  const { topologyKey, namespaces, namespaceSelector, labelSelector } = term;
  const selector = labelSelector ?? undefined;
  return present({ topologyKey, namespaces, selector, allNamespaces: namespaceSelector ? true : undefined });
}

export const AntiAffinity = z.lazy(() =>
  z.pipe(
    listOf(PodAffinityTerm),
    z.transform((terms) => terms.map(podTermOf)),
  ),
);

export const Spread = z.lazy(() =>
  listOf(
    z.pipe(
      z.object({
        maxSkew: z._default(z.number(), 1),
        topologyKey: z._default(z.string(), ""),
        whenUnsatisfiable: z.string(),
        labelSelector: z.nullish(Selector),
        matchLabelKeys: listOf(z.string()),
        nodeAffinityPolicy: Text,
        nodeTaintsPolicy: Text,
        minDomains: z.nullish(z.number()),
      }),
      z.transform(({ labelSelector, minDomains, ...rest }) =>
        present({ ...rest, selector: labelSelector ?? undefined, minDomains: minDomains ?? undefined }),
      ),
    ),
  ),
);

export const Tolerations = z.lazy(() => listOf(Toleration));

type Texts = Readonly<Record<string, string>>;

export interface ResourceRequirements {
  readonly requests: Texts;
  readonly limits: Texts;
}

export interface PodResources {
  readonly containers: readonly ResourceRequirements[];
  /** `sidecar` is true for an init container with `restartPolicy: Always`. */
  readonly initContainers: readonly (ResourceRequirements & { readonly sidecar: boolean })[];
  readonly overhead: Texts;
  readonly pod?: ResourceRequirements | undefined;
}

type Amounts = ReadonlyMap<string, number>;

function amountsOf(quantities: Texts): Amounts {
  return new Map(Object.entries(quantities).map(([name, text]) => [name, milliQuantity(text)]));
}

function combined(a: Amounts, b: Amounts, combine: (a: number, b: number) => number): Amounts {
  const result = new Map(a);
  for (const [name, amount] of b) result.set(name, combine(a.get(name) ?? 0, amount));
  return result;
}

const plus = (a: Amounts, b: Amounts) => combined(a, b, (x, y) => x + y);
const atLeast = (a: Amounts, b: Amounts) => combined(a, b, Math.max);

const NOTHING: Amounts = new Map();

export function requestsOf({ containers, initContainers, overhead, pod }: PodResources): Resources {
  const running = containers.reduce((sum, { requests }) => plus(sum, amountsOf(requests)), NOTHING);
  const all = plus(requestsBeside(running, initContainers, pod), amountsOf(overhead));
  return Object.fromEntries([...all].map(([name, milli]) => [name, inUnits(name, milli)]));
}

/** Returns the sum of a pod's limits. The pod overhead of a resource is added only if the resource has a limit. */
export function limitsOf({ containers, initContainers, overhead, pod }: PodResources): Resources {
  const parts = [...containers, ...initContainers, ...(pod ? [pod] : [])];
  const named = new Set(parts.flatMap(({ limits }) => Object.keys(limits)));
  return requestsOf({
    containers: containers.map(limited),
    initContainers: initContainers.map(limited),
    overhead: Object.fromEntries(Object.entries(overhead).filter(([name]) => named.has(name))),
    ...(pod && { pod: limited(pod) }),
  });
}

function limited<R extends ResourceRequirements>(one: R): R {
  return { ...one, requests: one.limits };
}

function requestsBeside(running: Amounts, inits: PodResources["initContainers"], pod: PodResources["pod"]): Amounts {
  let sidecars = NOTHING;
  let starting = NOTHING;
  for (const { requests, sidecar } of inits) {
    const together = plus(sidecars, amountsOf(requests));
    if (sidecar) sidecars = together;
    starting = atLeast(starting, together);
  }
  const needed = atLeast(plus(running, sidecars), starting);
  return new Map([...needed, ...[...amountsOf(pod?.requests ?? {})].filter(([name]) => isPodLevel(name))]);
}

function isPodLevel(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

/** Converts CPU to millicores and every other resource to whole units, rounded up. */
function inUnits(name: string, milli: number): number {
  return name === "cpu" ? milli : Math.ceil(milli / 1000);
}

export function resourcesOf(quantities: Texts): Resources {
  return Object.fromEntries([...amountsOf(quantities)].map(([name, milli]) => [name, inUnits(name, milli)]));
}

function computeOf(parts: readonly Texts[]): Amounts {
  const sum = parts.reduce((sum, quantities) => plus(sum, amountsOf(quantities)), NOTHING);
  return new Map([...sum].filter(([name, amount]) => (name === "cpu" || name === "memory") && amount > 0));
}

export function qosClassOf({ containers, initContainers, pod }: PodResources): QosClass {
  const parts = pod === undefined ? [...containers, ...initContainers] : [pod];
  const requests = computeOf(parts.map((part) => part.requests));
  const limits = computeOf(parts.map((part) => part.limits));
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  const isLimited = parts.every((part) => computeOf([part.limits]).size === 2);
  const isEqual = requests.size === limits.size && [...requests].every(([name, amount]) => limits.get(name) === amount);
  return isLimited && isEqual ? "Guaranteed" : "Burstable";
}

const Requirements = z.lazy(() =>
  z.pipe(
    z.nullish(z.object({ requests: Quantities, limits: Quantities })),
    z.transform((resources): ResourceRequirements => resources ?? { requests: {}, limits: {} }),
  ),
);

const InitContainer = z.lazy(() =>
  z.pipe(
    z.object({ restartPolicy: Text, resources: Requirements }),
    z.transform(({ restartPolicy, resources }) => ({ ...resources, sidecar: restartPolicy === "Always" })),
  ),
);

const OfPod = z.lazy(() =>
  z.pipe(
    Requirements,
    z.transform((all) => (Object.keys({ ...all.requests, ...all.limits }).length > 0 ? all : undefined)),
  ),
);

export const Computed = z.lazy(() =>
  z.pipe(
    z.object({
      containers: z.array(Requirements),
      initContainers: z.array(InitContainer),
      overhead: Quantities,
      pod: OfPod,
    }),
    z.transform((all) => ({ requests: requestsOf(all), qosClass: qosClassOf(all) })),
  ),
);

export const Limits = z.lazy(() =>
  z.pipe(
    z.object({
      spec: z.object({
        containers: listOf(z.object({ resources: Requirements })),
        initContainers: listOf(InitContainer),
        overhead: Quantities,
        resources: OfPod,
      }),
    }),
    z.transform(({ spec: { containers, resources: pod, ...rest } }) =>
      limitsOf({ ...rest, containers: containers.map(({ resources }) => resources), pod }),
    ),
  ),
);
