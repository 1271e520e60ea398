/** Pods as a preflight sees them: what they ask of a node and of the pods near them. */
import * as z from "zod/mini";
import { Limits, resourcesOf } from "../cluster/kinds/pod-resources.ts";
import { scheduledPodSchema, Time } from "../cluster/kinds/scheduled-pod.ts";
import { ownValue } from "../policy/kube/own-value.ts";
import type { Labels, PodTerm, Resources, SpreadConstraint } from "../policy/kube/placement.ts";
import type { NeighbourPod, PreflightPod, QuotaFacts, Volume } from "../policy/preflight/facts.ts";
import { resourceOf } from "../policy/preflight/refusals.ts";
import {
  listOf,
  ObjectName,
  ObjectNamespace,
  part,
  present,
  Quantities,
  Requirement,
  TextsOrNone,
  Text,
} from "../kube/schemas/fields.ts";

const Selector = z.lazy(() => z.object({ matchLabels: TextsOrNone, matchExpressions: listOf(Requirement) }));

const Term = z.lazy(() =>
  z.object({
    topologyKey: z.string(),
    namespaces: listOf(z.string()),
    namespaceSelector: z.nullish(Selector),
    labelSelector: z.nullish(Selector),
  }),
);

const Terms = z.lazy(() => part({ requiredDuringSchedulingIgnoredDuringExecution: listOf(Term) }));

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
      affinity: part({ podAffinity: Terms, podAntiAffinity: Terms }),
      topologySpreadConstraints: listOf(Spread),
      volumes: listOf(z.object({ emptyDir: z.nullish(z.unknown()) })),
      containers: listOf(z.object({ ports: listOf(z.object({ hostPort: z.nullish(z.number()) })) })),
    }),
  }),
);

type Asked = z.output<typeof Asking>["spec"];

/** For the pods of one list. */
export function preflightPodSchema() {
  const unlimited = unlimitedPodSchema();
  return z.transform((input: unknown, { issues }): PreflightPod => {
    const [pod, limits] = [unlimited.safeParse(input), Limits.safeParse(input)];
    if (pod.success && limits.success) return { ...pod.data, limits: limits.data };
    for (const { path, message } of pod.error?.issues ?? limits.error?.issues ?? []) {
      issues.push({ code: "custom", input, path: [...path], message });
    }
    return z.NEVER;
  });
}

function unlimitedPodSchema() {
  const shared = scheduledPodSchema();
  return z.transform((input: unknown, { issues }): PreflightPod => {
    const pod = shared.safeParse(input);
    const asking = Asking.safeParse(input);
    if (pod.success && asking.success) {
      const { metadata, spec } = asking.data;
      const { deletionTimestamp: goneBy, finalizers } = metadata;
      const localStorage = spec.volumes.some(({ emptyDir }) => Boolean(emptyDir));
      const spread = spreadOf(spec, pod.data.labels);
      return {
        ...pod.data,
        ...termsOf(spec),
        spread,
        localStorage,
        ...(typeof goneBy === "number" && { goneBy }),
        finalizers,
        unchecked: uncheckedOf(spec, pod.data.hasResourceClaims),
      };
    }
    for (const { path, message } of pod.error?.issues ?? asking.error?.issues ?? []) {
      issues.push({ code: "custom", input, path: [...path], message });
    }
    return z.NEVER;
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

function termsOf({ affinity: { podAffinity, podAntiAffinity } }: Asked) {
  return {
    affinity: podAffinity.requiredDuringSchedulingIgnoredDuringExecution.map(termOf),
    antiAffinity: podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.map(termOf),
  };
}

/** Labels of namespaces are not read: a selector of some of them counts as one of all. */
function termOf({ topologyKey, namespaces, namespaceSelector, labelSelector }: z.output<typeof Term>): PodTerm {
  const selector = labelSelector ?? undefined;
  return present({ topologyKey, namespaces, selector, allNamespaces: namespaceSelector ? true : undefined });
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

function isSome(selector: z.output<typeof Term>["namespaceSelector"]): boolean {
  if (!selector) return false;
  return Object.keys(selector.matchLabels).length + selector.matchExpressions.length > 0;
}

const NodeTerms = z.lazy(() =>
  listOf(z.object({ matchExpressions: listOf(Requirement), matchFields: listOf(Requirement) })),
);

/** Undefined: every node reaches it, or no claim is bound to it. */
export const PersistentVolume = z.lazy(() =>
  z.pipe(
    z.object({
      spec: z.object({
        claimRef: z.nullish(z.object({ namespace: z.string(), name: z.string() })),
        nodeAffinity: part({ required: z.nullish(z.object({ nodeSelectorTerms: NodeTerms })) }),
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
