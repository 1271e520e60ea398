/** What descheduling asks of a cluster, beside what all of Lifeboat does. */
import * as z from "zod/mini";
import { type Client, named } from "../kube/client.ts";
import { type EvictionAnswer, type EvictionOptions, requestEviction } from "../kube/evict.ts";
import { TextsOrNone } from "../kube/schemas/fields.ts";
import { scheduledPodSchema } from "../kube/schemas/scheduled-pod.ts";
import { giveLeaseBack, readLease, takeLease } from "../kube/lease.ts";
import type { LeaseFacts } from "../kube/schemas/kubernetes.ts";
import type { Labels } from "../kube/placement.ts";
import * as names from "../kube/names.ts";
import type { Nominated } from "./cycle/nominations.ts";

const Namespace = z.lazy(() => z.object({ metadata: z.object({ name: z.string(), labels: TextsOrNone }) }));

const PriorityClass = z.lazy(() => z.object({ value: z._default(z.number(), 0) }));

const LEASE = { namespace: names.LIFEBOAT_NAMESPACE, name: names.DESCHEDULING };
/** Longer than a cycle lives, with a minute for clocks that differ. A cycle takes it once and never renews it. */
export const LEASE_SECONDS = 300;

export type DeschedulingClient = ReturnType<typeof deschedulingClient>;

export function deschedulingClient(cluster: Client) {
  return {
    /** Those that are bound to a node, finished ones included. */
    listPods: () => cluster.list("pods", { unlike: { "spec.nodeName": [""] }, as: scheduledPodSchema() }),
    /** By name. */
    async listNamespaceLabels(): Promise<ReadonlyMap<string, Labels>> {
      const namespaces = await cluster.list("namespaces", { as: Namespace });
      return new Map(namespaces.map(({ metadata: { name, labels } }) => [name, labels]));
    },
    getPriorityClassValue: async (name: string) =>
      (await cluster.get("priorityclasses", named(name), { as: PriorityClass }))?.value,
    getLease: () => readLease(LEASE, cluster),
    /** As it is once taken. Conflict: it is not what was found. */
    takeLease: (found: LeaseFacts, now: Date) =>
      takeLease(LEASE, found, { holder: names.MANAGED_BY, seconds: LEASE_SECONDS, now }, cluster),
    giveLeaseBack: (taken: LeaseFacts) => giveLeaseBack(LEASE, taken, cluster),
    // In the descheduler's name and with its form of a reason, so that the webhook that reviews the eviction knows the cause.
    evict: (
      { pod, profile, plugin, reason = "" }: Nominated,
      options: Omit<EvictionOptions, "annotations">,
    ): Promise<EvictionAnswer> =>
      requestEviction(
        pod,
        {
          ...options,
          annotations: {
            [names.REQUESTED_BY_ANNOTATION]: names.DESCHEDULER,
            [names.REASON_ANNOTATION]: `triggered by ${profile}/${plugin}: ${reason}`,
          },
        },
        cluster,
      ),
  };
}
