/** Which fields descheduling reads of pods, namespaces, claims and priority classes, and their types. */
import * as z from "zod/mini";
import { ObjectName, ObjectNamespace } from "../../cluster/paths.ts";
import { PodAnnotations } from "./pod-metadata.ts";
import { limitsOf, type PodResources, qosClassOf, requestsOf, type ResourceRequirements } from "./pod-resources.ts";
import {
  Conditions,
  listOf,
  Owner,
  part,
  present,
  Quantities,
  Requirement,
  Text,
  TextsOrNone,
  Toleration,
} from "../../cluster/kinds/fields.ts";

const Resources = z.lazy(() =>
  z.pipe(
    z.nullish(z.object({ requests: Quantities, limits: Quantities })),
    z.transform((resources): ResourceRequirements => resources ?? { requests: {}, limits: {} }),
  ),
);

function isAnything({ requests, limits }: ResourceRequirements): boolean {
  return Object.keys(requests).length + Object.keys(limits).length > 0;
}

/** The part of a pod's spec that gives its requests and its QoS class. */
export const Computed = z.lazy(() =>
  z.pipe(
    z.object({
      containers: z.array(Resources),
      initContainers: z.array(z.object({ restartPolicy: Text, resources: Resources })),
      overhead: Quantities,
      pod: Resources,
    }),
    z.transform((spec) => {
      const all = partsOf(spec);
      return { requests: requestsOf(all), qosClass: qosClassOf(all) };
    }),
  ),
);

interface Parts extends Omit<PodResources, "initContainers" | "pod"> {
  readonly initContainers: readonly {
    readonly restartPolicy?: string | undefined;
    readonly resources: ResourceRequirements;
  }[];
  readonly pod: ResourceRequirements;
}

function partsOf({ containers, initContainers, overhead, pod }: Parts): PodResources {
  const inits = initContainers.map(({ restartPolicy, resources }) => {
    return { ...resources, sidecar: restartPolicy === "Always" };
  });
  return { containers, initContainers: inits, overhead, ...(isAnything(pod) ? { pod } : {}) };
}

/** The limits of a whole pod. No plugin reads them, but a preflight does. */
export const Limits = z.lazy(() =>
  z.pipe(
    z.object({
      spec: z.object({
        containers: listOf(z.object({ resources: Resources })),
        initContainers: listOf(z.object({ restartPolicy: Text, resources: Resources })),
        overhead: Quantities,
        resources: Resources,
      }),
    }),
    z.transform(({ spec: { containers, resources: pod, ...rest } }) =>
      limitsOf(partsOf({ containers: containers.map((container) => container.resources), pod, ...rest })),
    ),
  ),
);

const Term = z.lazy(() => z.object({ matchExpressions: listOf(Requirement), matchFields: listOf(Requirement) }));

const Affinity = z.lazy(() =>
  z.nullish(
    z.object({
      requiredDuringSchedulingIgnoredDuringExecution: z.nullish(z.object({ nodeSelectorTerms: listOf(Term) })),
      preferredDuringSchedulingIgnoredDuringExecution: listOf(z.object({ weight: z.number(), preference: Term })),
    }),
  ),
);

/** What a pod asks of its node: one object for all pods that ask the same. */
export const Asked = z.lazy(() =>
  z.pipe(
    z.object({ nodeSelector: TextsOrNone, nodeAffinity: Affinity }),
    z.transform(({ nodeSelector, nodeAffinity }) => {
      const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
      return {
        nodeSelector,
        ...(required === undefined ? {} : { required }),
        preferred: nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [],
      };
    }),
  ),
);

const Selector = z.lazy(() => z.object({ matchLabels: TextsOrNone, matchExpressions: listOf(Requirement) }));

/** A term without a selector selects nothing. */
export const AntiAffinity = z.lazy(() =>
  z.pipe(
    listOf(z.object({ topologyKey: z.string(), namespaces: listOf(z.string()), labelSelector: z.nullish(Selector) })),
    z.transform((terms) =>
      terms.flatMap(({ topologyKey, namespaces, labelSelector }) => {
        return labelSelector ? [{ topologyKey, namespaces, selector: labelSelector }] : [];
      }),
    ),
  ),
);

export const Tolerations = z.lazy(() =>
  listOf(
    z.pipe(
      Toleration,
      z.transform((t) => ({ ...present({ ...t, tolerationSeconds: t.tolerationSeconds ?? undefined }) })),
    ),
  ),
);

const TIME = "expected a time";
export const Time = z.lazy(() =>
  z.pipe(
    z.string(TIME).check(z.refine((text) => !Number.isNaN(Date.parse(text)), TIME)),
    z.transform((text) => Date.parse(text)),
  ),
);

const Anything = z.nullish(z.unknown());
const NodeName = "expected the name of a node";

const Volume = z.lazy(() =>
  z.object({
    emptyDir: Anything,
    hostPath: Anything,
    persistentVolumeClaim: z.nullish(z.object({ claimName: z.string() })),
  }),
);

const ContainerStatus = z.lazy(() =>
  z.object({
    state: z.nullish(
      z.object({
        waiting: z.nullish(z.object({ reason: Text })),
        terminated: z.nullish(z.object({ reason: Text, exitCode: z._default(z.number(), 0) })),
      }),
    ),
  }),
);

/** Parts that pods may share stay unparsed: the projection parses each of them once. */
export const DeschedulerPodObject = z.lazy(() =>
  z.object({
    metadata: z.object({
      namespace: ObjectNamespace,
      name: ObjectName,
      uid: z.string(),
      resourceVersion: z.string(),
      creationTimestamp: Time,
      deletionTimestamp: Text,
      labels: TextsOrNone,
      annotations: PodAnnotations,
      ownerReferences: listOf(Owner),
    }),
    spec: z.object({
      nodeName: z.string(NodeName).check(z.minLength(1, NodeName)),
      priority: z.nullish(z.number()),
      tolerations: Anything,
      nodeSelector: Anything,
      affinity: z.nullish(
        z.object({
          nodeAffinity: Anything,
          podAntiAffinity: z.nullish(z.object({ requiredDuringSchedulingIgnoredDuringExecution: Anything })),
        }),
      ),
      containers: listOf(z.object({ resources: Anything })),
      initContainers: listOf(z.object({ restartPolicy: Text, resources: Anything })),
      overhead: Anything,
      resources: Anything,
      volumes: listOf(Volume),
      resourceClaims: listOf(z.unknown()),
    }),
    status: part({
      phase: z._default(z.string(), ""),
      reason: Text,
      qosClass: z.nullish(z.enum(["BestEffort", "Burstable", "Guaranteed"])),
      startTime: z.nullish(Time),
      conditions: Conditions,
      containerStatuses: listOf(ContainerStatus),
      initContainerStatuses: listOf(ContainerStatus),
      ephemeralContainerStatuses: listOf(ContainerStatus),
    }),
  }),
);

export const Namespace = z.lazy(() => z.object({ metadata: z.object({ name: z.string(), labels: TextsOrNone }) }));

export const Claim = z.lazy(() =>
  z.object({
    metadata: z.object({ namespace: z.string(), name: z.string() }),
    spec: z.object({ storageClassName: Text }),
  }),
);

export const PriorityClass = z.lazy(() => z.object({ value: z._default(z.number(), 0) }));
