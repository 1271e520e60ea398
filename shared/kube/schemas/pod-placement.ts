/** What a pod asks of its node and of the pods there. */
import * as z from "zod/mini";
import type { PodTerm } from "../placement.ts";
import { listOf, NodeTerm, present, Selector, TextsOrNone, Toleration } from "./fields.ts";

const Affinity = z.lazy(() =>
  z.nullish(
    z.object({
      requiredDuringSchedulingIgnoredDuringExecution: z.nullish(z.object({ nodeSelectorTerms: listOf(NodeTerm) })),
    }),
  ),
);

/** What a pod asks of its node: one object for all pods that ask the same. */
export const Asked = z.lazy(() =>
  z.pipe(
    z.object({ nodeSelector: TextsOrNone, nodeAffinity: Affinity }),
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

/** Labels of namespaces are not read: a selector of some of them counts as one of all. */
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

export const Tolerations = z.lazy(() => listOf(Toleration));
