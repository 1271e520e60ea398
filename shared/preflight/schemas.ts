/** Pods as a preflight sees them: what they ask of a node and of the pods near them. */
import * as z from "zod/mini";
import { PodAffinityTerm, podTermOf } from "../kube/schemas/pod-placement.ts";
import { Limits, resourcesOf } from "../kube/schemas/pod-resources.ts";
import type { Issues } from "../kube/schemas/remembered.ts";
import { scheduledPodSchema, Time } from "../kube/schemas/scheduled-pod.ts";
import { ownValue } from "../kube/own-value.ts";
import type { Labels, Resources, SpreadConstraint } from "../kube/placement.ts";
import type { NeighbourPod, PreflightPod, QuotaFacts, Volume } from "./facts.ts";
import { resourceOf } from "./refusals.ts";
import {
  listOf,
  NodeTerm,
  ObjectName,
  ObjectNamespace,
  part,
  present,
  Quantities,
  Selector,
  Text,
} from "../kube/schemas/fields.ts";

const Terms = z.lazy(() => part({ requiredDuringSchedulingIgnoredDuringExecution: listOf(PodAffinityTerm) }));

const Spread = z.lazy(() =>
  z.object({
    whenUnsatisfiable: z.string(),
    topologyKey: z.string(),
    maxSkew: z.number(),
    minDomains: z.nullish(z.number()),
    labelSelector: z.nullish(Selector),
    matchLabelKeys: listOf(z.string()),
    nodeAffinityPolicy: Text,
    nodeTaintsPolicy: Text,
  }),
);

const Asking = z.lazy(() =>
  z.object({
    metadata: z.object({ deletionTimestamp: z.nullish(Time), finalizers: listOf(z.string()) }),
    spec: z.object({
      affinity: part({ podAffinity: Terms }),
      topologySpreadConstraints: listOf(Spread),
      volumes: listOf(z.object({ emptyDir: z.nullish(z.unknown()) })),
      containers: listOf(z.object({ ports: listOf(z.object({ hostPort: z.nullish(z.number()) })) })),
    }),
  }),
);

type Asked = z.output<typeof Asking>["spec"];

/** Reads the same object by several schemas. */
function reader(input: unknown, issues: Issues) {
  return <S extends z.ZodMiniType>(schema: S): z.output<S> | undefined => {
    const { data, error } = schema.safeParse(input);
    for (const { path, message } of error?.issues ?? []) {
      issues.push({ code: "custom", input, path: [...path], message });
    }
    return data;
  };
}

/** For the pods of one list. */
export function preflightPodSchema() {
  const unlimited = unlimitedPodSchema();
  return z.transform((input: unknown, { issues }): PreflightPod => {
    const read = reader(input, issues);
    const [pod, limits] = [read(unlimited), read(Limits)];
    return pod === undefined || limits === undefined ? z.NEVER : { ...pod, limits };
  });
}

function unlimitedPodSchema() {
  const shared = scheduledPodSchema();
  return z.transform((input: unknown, { issues }): PreflightPod => {
    const read = reader(input, issues);
    const [pod, asking] = [read(shared), read(Asking)];
    if (pod === undefined || asking === undefined) return z.NEVER;
    const { metadata, spec } = asking;
    const { deletionTimestamp: goneBy, finalizers } = metadata;
    return {
      ...pod,
      affinity: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution.map(podTermOf),
      spread: spreadOf(spec, pod.labels),
      localStorage: spec.volumes.some(({ emptyDir }) => Boolean(emptyDir)),
      ...(typeof goneBy === "number" && { goneBy }),
      finalizers,
      unchecked: uncheckedOf(spec, pod.hasResourceClaims),
    };
  });
}

/** There are thousands of them: only what keeps others away. */
export function neighbourPodSchema() {
  return z.pipe(
    unlimitedPodSchema(),
    z.transform((pod: PreflightPod): NeighbourPod => {
      const { namespace, name, uid, nodeName, phase, deleting, labels, requests, antiAffinity } = pod;
      return { namespace, name, uid, nodeName, phase, deleting, labels, requests, antiAffinity };
    }),
  );
}

function spreadOf({ topologySpreadConstraints }: Asked, labels: Labels): readonly SpreadConstraint[] {
  const strict = topologySpreadConstraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule");
  return strict.map((constraint) => {
    const { topologyKey, maxSkew, minDomains, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
    return present({
      topologyKey,
      maxSkew,
      minDomains: minDomains ?? 1,
      selector: spreadSelector(constraint, labels),
      honorsAffinity: nodeAffinityPolicy !== "Ignore",
      honorsTaints: nodeTaintsPolicy === "Honor",
    });
  });
}

/** Of `matchLabelKeys` those count that the pod has itself. */
function spreadSelector({ labelSelector, matchLabelKeys }: z.output<typeof Spread>, labels: Labels) {
  if (!labelSelector) return undefined;
  const own = matchLabelKeys.flatMap((key) => {
    const value = ownValue(labels, key);
    return value === undefined ? [] : [{ key, operator: "In", values: [value] }];
  });
  return { ...labelSelector, matchExpressions: [...labelSelector.matchExpressions, ...own] };
}

function uncheckedOf(spec: Asked, hasResourceClaims: boolean): readonly string[] {
  const { affinity, containers } = spec;
  const near = affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution;
  return [
    ...(containers.some(({ ports }) => ports.some(({ hostPort }) => Boolean(hostPort))) ? ["hostPort"] : []),
    ...(near.some((term) => isSome(term.namespaceSelector)) ? ["namespaceSelector of podAffinity"] : []),
    ...(hasResourceClaims ? ["resourceClaims"] : []),
  ];
}

function isSome(selector: z.output<typeof PodAffinityTerm>["namespaceSelector"]): boolean {
  if (!selector) return false;
  return Object.keys(selector.matchLabels).length + selector.matchExpressions.length > 0;
}

/** Undefined: every node reaches it, or no claim is bound to it. */
export const PersistentVolume = z.lazy(() =>
  z.pipe(
    z.object({
      spec: z.object({
        claimRef: z.nullish(z.object({ namespace: z.string(), name: z.string() })),
        nodeAffinity: part({ required: z.nullish(z.object({ nodeSelectorTerms: listOf(NodeTerm) })) }),
      }),
      status: part({ phase: Text }),
    }),
    z.transform(({ spec: { claimRef, nodeAffinity }, status: { phase } }): Volume | undefined => {
      if (!claimRef || !nodeAffinity.required || phase !== "Bound") return undefined;
      const { namespace, name: claim } = claimRef;
      return { namespace, claim, reachedFrom: nodeAffinity.required.nodeSelectorTerms };
    }),
  ),
);

export const ResourceQuota = z.lazy(() =>
  z.pipe(
    z.object({
      metadata: z.object({ namespace: ObjectNamespace, name: ObjectName }),
      spec: part({
        hard: Quantities,
        scopes: listOf(z.string()),
        scopeSelector: part({ matchExpressions: listOf(z.object({ scopeName: z.string() })) }),
      }),
      status: part({ hard: Quantities, used: Quantities }),
    }),
    z.transform(({ metadata: { namespace, name }, spec, status: { hard, used } }): QuotaFacts => {
      const scopes = [...spec.scopes, ...spec.scopeSelector.matchExpressions.map(({ scopeName }) => scopeName)];
      const counted = Object.keys(spec.hard).every((key) => Object.hasOwn(hard, key) && Object.hasOwn(used, key));
      return { namespace, name, hard: amountsOf(hard), used: amountsOf(used), scopes, counted };
    }),
  ),
);

/** What a quota names is some part of a resource, in that resource's unit. */
function amountsOf(quantities: Readonly<Record<string, string>>): Resources {
  return Object.fromEntries(
    Object.entries(quantities).map(([name, text]) => {
      const resource = resourceOf(name);
      return [name, resourcesOf({ [resource]: text })[resource] ?? 0];
    }),
  );
}
