/** Pods as a preflight sees them: what they ask of a node and of the pods near them. */
import * as z from "zod/mini";
import { Limits, resourcesOf } from "../kube/schemas/pod-requirements.ts";
import { type Issues, scheduledPodSchema, Time } from "../kube/schemas/scheduled-pod.ts";
import type { Resources } from "../kube/scheduled-pod.ts";
import type { NeighbourPod, PreflightPod, QuotaFacts, Volume } from "./facts.ts";
import { resourceOf } from "./refusals.ts";
import { listOf, NodeTerm, ObjectName, ObjectNamespace, part, Quantities, Text } from "../kube/schemas/fields.ts";

const Asking = z.lazy(() =>
  z.object({
    metadata: z.object({ deletionTimestamp: z.nullish(Time), finalizers: listOf(z.string()) }),
    spec: z.object({
      affinity: part({ podAffinity: part({ requiredDuringSchedulingIgnoredDuringExecution: listOf(z.unknown()) }) }),
      topologySpreadConstraints: listOf(z.object({ whenUnsatisfiable: z.string() })),
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

function uncheckedOf(spec: Asked, hasResourceClaims: boolean): readonly string[] {
  const { affinity, containers, topologySpreadConstraints } = spec;
  const isStrict = topologySpreadConstraints.some(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule");
  return [
    ...(containers.some(({ ports }) => ports.some(({ hostPort }) => Boolean(hostPort))) ? ["hostPort"] : []),
    ...(affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution.length > 0 ? ["podAffinity"] : []),
    ...(isStrict ? ["topologySpreadConstraints"] : []),
    ...(hasResourceClaims ? ["resourceClaims"] : []),
  ];
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
