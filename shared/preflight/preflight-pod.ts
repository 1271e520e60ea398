/** Schemas of pods for a preflight: pods of the node to drain, and pods of other nodes. */
import * as z from "zod/mini";
import { listOf, part } from "../kube/schemas/fields.ts";
import { Limits } from "../kube/schemas/pod-requirements.ts";
import type { ScheduledPod, PlacementTerms } from "../kube/scheduled-pod.ts";
import { type Issues, scheduledPodSchema, Time } from "../kube/schemas/scheduled-pod.ts";
import type { NeighbourPod, PreflightPod } from "./facts.ts";
import { placementTermsSchema } from "./placement-terms.ts";

const Asking = z.lazy(() =>
  z.object({
    metadata: z.object({ deletionTimestamp: z.nullish(Time), finalizers: listOf(z.string()) }),
    spec: z.object({
      affinity: part({ podAffinity: part({ requiredDuringSchedulingIgnoredDuringExecution: listOf(z.unknown()) }) }),
      volumes: listOf(z.object({ emptyDir: z.nullish(z.unknown()) })),
      containers: listOf(z.object({ ports: listOf(z.object({ hostPort: z.nullish(z.number()) })) })),
    }),
  }),
);

function reader(input: unknown, issues: Issues) {
  return <S extends z.ZodMiniType>(schema: S): z.output<S> | undefined => {
    const { data, error } = schema.safeParse(input);
    for (const { path, message } of error?.issues ?? []) {
      issues.push({ code: "custom", input, path: [...path], message });
    }
    return data;
  };
}

/**
 * Returns a schema for the pods of the node to drain. Use one schema for each list, because equal values share objects.
 */
export function preflightPodSchema() {
  const [shared, placing] = [scheduledPodSchema(), placementTermsSchema()];
  return z.transform((input: unknown, { issues }): PreflightPod => {
    const read = reader(input, issues);
    const [pod, asking, limits, placementTerms] = [read(shared), read(Asking), read(Limits), read(placing)];
    if (pod === undefined || asking === undefined || limits === undefined) return z.NEVER;
    const { metadata, spec } = asking;
    const { deletionTimestamp: goneBy, finalizers } = metadata;
    return {
      ...pod,
      ...schedulingOf(pod, placementTerms),
      limits,
      localStorage: spec.volumes.some(({ emptyDir }) => Boolean(emptyDir)),
      ...(typeof goneBy === "number" && { goneBy }),
      finalizers,
      unchecked: uncheckedOf(spec, pod.hasResourceClaims),
    };
  });
}

/**
 * Returns a schema for the pods of other nodes. It reads only the fields that affect the placement of other pods,
 * because there can be thousands of pods.
 */
export function neighbourPodSchema() {
  const [shared, placing] = [scheduledPodSchema(), placementTermsSchema()];
  return z.transform((input: unknown, { issues }): NeighbourPod => {
    const read = reader(input, issues);
    const [pod, placementTerms] = [read(shared), read(placing)];
    if (pod === undefined) return z.NEVER;
    const { namespace, name, uid, nodeName, phase, deleting, labels, requests, antiAffinity } = pod;
    const own = { namespace, name, uid, nodeName, phase, deleting, labels, requests, antiAffinity };
    return { ...own, ...schedulingOf(pod, placementTerms) };
  });
}

function schedulingOf({ owners }: Pick<ScheduledPod, "owners">, placementTerms: PlacementTerms | undefined) {
  const replicaSet = owners.find(({ controller, kind }) => controller && kind === "ReplicaSet")?.uid;
  return { ...(placementTerms && { placementTerms }), ...(replicaSet !== undefined && { replicaSet }) };
}

function uncheckedOf(spec: z.output<typeof Asking>["spec"], hasResourceClaims: boolean): readonly string[] {
  const { affinity, containers } = spec;
  return [
    ...(containers.some(({ ports }) => ports.some(({ hostPort }) => Boolean(hostPort))) ? ["hostPort"] : []),
    ...(affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution.length > 0 ? ["podAffinity"] : []),
    ...(hasResourceClaims ? ["resourceClaims"] : []),
  ];
}
