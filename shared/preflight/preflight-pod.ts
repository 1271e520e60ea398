/** Pods as a preflight reads them: those of the node, and those that take up room elsewhere. */
import * as z from "zod/mini";
import { listOf, part } from "../kube/schemas/fields.ts";
import { Limits } from "../kube/schemas/pod-requirements.ts";
import { type Issues, scheduledPodSchema, Time } from "../kube/schemas/scheduled-pod.ts";
import type { NeighbourPod, PreflightPod } from "./facts.ts";

const Asking = z.lazy(() =>
  z.object({
    metadata: z.object({ deletionTimestamp: z.nullish(Time), finalizers: listOf(z.string()) }),
    spec: z.object({
      affinity: part({ podAffinity: part({ requiredDuringSchedulingIgnoredDuringExecution: listOf(z.unknown()) }) }),
      topologySpreadConstraints: listOf(z.object({ whenUnsatisfiable: z.string() })),
      volumes: listOf(
        z.object({ emptyDir: z.nullish(z.unknown()), hostPath: z.nullish(z.object({ path: z.string() })) }),
      ),
      containers: listOf(z.object({ ports: listOf(z.object({ hostPort: z.nullish(z.number()) })) })),
    }),
  }),
);

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
  const shared = scheduledPodSchema();
  return z.transform((input: unknown, { issues }): PreflightPod => {
    const read = reader(input, issues);
    const [pod, asking, limits] = [read(shared), read(Asking), read(Limits)];
    if (pod === undefined || asking === undefined || limits === undefined) return z.NEVER;
    const { metadata, spec } = asking;
    const { deletionTimestamp: goneBy, finalizers } = metadata;
    return {
      ...pod,
      limits,
      localStorage: spec.volumes.some(({ emptyDir }) => Boolean(emptyDir)),
      hostFiles: spec.volumes.flatMap(({ hostPath }) => hostPath?.path ?? []),
      ...(typeof goneBy === "number" && { goneBy }),
      finalizers,
      unchecked: uncheckedOf(spec, pod.hasResourceClaims),
    };
  });
}

/** There are thousands of them: only what keeps others away. */
export function neighbourPodSchema() {
  return z.pipe(
    scheduledPodSchema(),
    z.transform((pod): NeighbourPod => {
      const { namespace, name, uid, nodeName, phase, deleting, labels, requests, antiAffinity } = pod;
      return { namespace, name, uid, nodeName, phase, deleting, labels, requests, antiAffinity };
    }),
  );
}

function uncheckedOf(spec: z.output<typeof Asking>["spec"], hasResourceClaims: boolean): readonly string[] {
  const { affinity, containers, topologySpreadConstraints } = spec;
  const isStrict = topologySpreadConstraints.some(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule");
  return [
    ...(containers.some(({ ports }) => ports.some(({ hostPort }) => Boolean(hostPort))) ? ["hostPort"] : []),
    ...(affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution.length > 0 ? ["podAffinity"] : []),
    ...(isStrict ? ["topologySpreadConstraints"] : []),
    ...(hasResourceClaims ? ["resourceClaims"] : []),
  ];
}
