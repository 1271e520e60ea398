/** What a pod asks of its node and of the pods there. */
import * as z from "zod/mini";
import { listOf, present, Requirement, TextsOrNone, Toleration } from "./fields.ts";

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
