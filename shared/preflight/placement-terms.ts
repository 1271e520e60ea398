/** Reads the preferences and spread constraints of a pod in the same way as kube-scheduler. */
import * as z from "zod/mini";
import { listOf, NodeTerm, part, Quantities } from "../kube/schemas/fields.ts";
import { PodAffinityTerm, podTermOf, Spread } from "../kube/schemas/pod-requirements.ts";
import type { PlacementTerms } from "../kube/scheduled-pod.ts";

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
 * kube-scheduler assumes these requests for a container without requests: 100 millicores and 200 MiB. Upstream:
 * pkg/scheduler/util/pod_resources.go.
 */
const ASSUMED = { cpu: 100, memory: 200 * 1024 ** 2 } as const;

const TermsOfPod = z.lazy(() =>
  z.pipe(
    z.object({ spec: Spec }),
    z.transform(({ spec: { affinity, topologySpreadConstraints: spread, containers } }): PlacementTerms | undefined => {
      const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
      const weighted = (all: z.output<typeof Preferences>, sign: number) =>
        all[PREFERRED].map(({ weight, podAffinityTerm }) => ({ ...podTermOf(podAffinityTerm), weight: weight * sign }));
      const silent = (name: "cpu" | "memory") =>
        containers.filter(({ resources }) => resources.requests[name] === undefined).length * ASSUMED[name];
      const terms: PlacementTerms = {
        near: podAffinity[REQUIRED].map(podTermOf),
        preferred: [...weighted(podAffinity, 1), ...weighted(podAntiAffinity, -1)],
        nodes: nodeAffinity[PREFERRED].map(({ weight, preference }) => ({ weight, term: preference })),
        spread,
        assumed: { cpu: silent("cpu"), memory: silent("memory") },
      };
      return hasAny(terms) ? terms : undefined;
    }),
  ),
);

function hasAny({ near, preferred, nodes, spread, assumed }: PlacementTerms): boolean {
  const isSilent = Object.values(assumed).some((amount) => amount > 0);
  return near.length + preferred.length + nodes.length + spread.length > 0 || isSilent;
}

/** Returns a schema for the pods of one list. Equal preferences share one object, to save memory. */
export function placementTermsSchema() {
  const seen = new Map<string, PlacementTerms>();
  return z.pipe(
    TermsOfPod,
    z.transform((terms) => {
      if (terms === undefined) return undefined;
      const text = JSON.stringify(terms);
      const known = seen.get(text);
      if (known === undefined) seen.set(text, terms);
      return known ?? terms;
    }),
  );
}
