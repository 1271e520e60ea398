/** The preferences and the spread of a pod, as kube-scheduler reads them. */
import * as z from "zod/mini";
import { listOf, NodeTerm, part, Quantities } from "../kube/schemas/fields.ts";
import { PodAffinityTerm, podTermOf, Spread } from "../kube/schemas/pod-requirements.ts";
import type { Wishes } from "../kube/scheduled-pod.ts";

const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";
const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

const Preferences = z.lazy(() =>
  part({ [PREFERRED]: listOf(z.object({ weight: z.number(), podAffinityTerm: PodAffinityTerm })) }),
);

const Spec = z.lazy(() =>
  z.object({
    affinity: part({
      nodeAffinity: part({ [PREFERRED]: listOf(z.object({ weight: z.number(), preference: NodeTerm })) }),
      podAffinity: z.pipe(
        z.transform((value: unknown) => value ?? {}),
        z.object({
          [REQUIRED]: listOf(PodAffinityTerm),
          [PREFERRED]: listOf(z.object({ weight: z.number(), podAffinityTerm: PodAffinityTerm })),
        }),
      ),
      podAntiAffinity: Preferences,
    }),
    topologySpreadConstraints: Spread,
    containers: listOf(z.object({ resources: part({ requests: Quantities }) })),
  }),
);

/**
 * kube-scheduler assumes these requests for a container without any: 100 millicores, 200 MiB. Upstream:
 * pkg/scheduler/util/pod_resources.go.
 */
const ASSUMED = { cpu: 100, memory: 200 * 1024 ** 2 } as const;

/** Undefined: the pod has no preferences. */
const WishesOfPod = z.lazy(() =>
  z.pipe(
    z.object({ spec: Spec }),
    z.transform(({ spec: { affinity, topologySpreadConstraints: spread, containers } }): Wishes | undefined => {
      const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
      const terms = (all: z.output<typeof Preferences>, sign: number) =>
        all[PREFERRED].map(({ weight, podAffinityTerm }) => ({ ...podTermOf(podAffinityTerm), weight: weight * sign }));
      const silent = (name: "cpu" | "memory") =>
        containers.filter(({ resources }) => resources.requests[name] === undefined).length * ASSUMED[name];
      const wishes: Wishes = {
        near: podAffinity[REQUIRED].map(podTermOf),
        preferred: [...terms(podAffinity, 1), ...terms(podAntiAffinity, -1)],
        nodes: nodeAffinity[PREFERRED].map(({ weight, preference }) => ({ weight, term: preference })),
        spread,
        assumed: { cpu: silent("cpu"), memory: silent("memory") },
      };
      return hasAny(wishes) ? wishes : undefined;
    }),
  ),
);

function hasAny({ near, preferred, nodes, spread, assumed }: Wishes): boolean {
  const isSilent = Object.values(assumed).some((amount) => amount > 0);
  return near.length + preferred.length + nodes.length + spread.length > 0 || isSilent;
}

/** Returns a schema for the pods of one list: equal preferences share one object. */
export function podWishesSchema() {
  const seen = new Map<string, Wishes>();
  return z.pipe(
    WishesOfPod,
    z.transform((wishes) => {
      if (wishes === undefined) return undefined;
      const text = JSON.stringify(wishes);
      const known = seen.get(text);
      if (known === undefined) seen.set(text, wishes);
      return known ?? wishes;
    }),
  );
}
