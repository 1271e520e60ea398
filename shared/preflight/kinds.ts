/** Schemas of volumes and quotas, with the fields that decide where a pod can run. */
import * as z from "zod/mini";
import type { Resources } from "../kube/scheduled-pod.ts";
import {
  listOf,
  NodeTerm,
  ObjectName,
  ObjectNamespace,
  part,
  Quantities,
  Text,
  TextsOrNone,
} from "../kube/schemas/fields.ts";
import { resourcesOf } from "../kube/schemas/pod-requirements.ts";
import type { QuotaFacts, Volume } from "./facts.ts";
import { resourceOf } from "./refusals.ts";

/**
 * A volume that only some nodes can access. Undefined if every node can access the volume, or if it is not bound to a
 * claim.
 */
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
      metadata: z.object({
        namespace: ObjectNamespace,
        name: ObjectName,
        labels: TextsOrNone,
        annotations: TextsOrNone,
        managedFields: listOf(z.object({ manager: Text })),
      }),
      spec: part({
        hard: Quantities,
        scopes: listOf(z.string()),
        scopeSelector: part({ matchExpressions: listOf(z.object({ scopeName: z.string() })) }),
      }),
      status: part({ hard: Quantities, used: Quantities }),
    }),
    z.transform(({ metadata, spec, status: { hard, used } }): QuotaFacts => {
      const { namespace, name, labels, annotations, managedFields } = metadata;
      const marks = { labels, annotations, managers: managedFields.flatMap(({ manager }) => manager ?? []) };
      const scopes = [...spec.scopes, ...spec.scopeSelector.matchExpressions.map(({ scopeName }) => scopeName)];
      const counted = Object.keys(spec.hard).every((key) => Object.hasOwn(hard, key) && Object.hasOwn(used, key));
      return { namespace, name, hard: amountsOf(hard), used: amountsOf(used), scopes, marks, counted };
    }),
  ),
);

/** Parses the amounts of a quota. The key `requests.memory` has the same unit as the resource `memory`. */
function amountsOf(quantities: Readonly<Record<string, string>>): Resources {
  const amounts = Object.entries(quantities).map(([name, text]) => {
    const resource = resourceOf(name);
    return [name, resourcesOf({ [resource]: text })[resource] ?? 0] as const;
  });
  return Object.fromEntries(amounts);
}
