/** What descheduling asks of a cluster, beside what all of Lifeboat does. */
import type { Client } from "../kube/client.ts";
import { scheduledPodSchema } from "../kube/schemas/scheduled-pod.ts";
import { giveLeaseBack, readLease, takeLease } from "../kube/lease.ts";
import type { LeaseFacts } from "../kube/schemas/kubernetes.ts";
import * as names from "../kube/names.ts";
import type { Nominated } from "./cycle/nominations.ts";
import { type EvictionAnswer, type EvictionOptions, requestEviction } from "../kube/requests.ts";

const LEASE = { namespace: names.LIFEBOAT_NAMESPACE, name: names.DESCHEDULING };
/** Longer than a cycle lives, with a minute for clocks that differ. A cycle takes it once and never renews it. */
export const LEASE_SECONDS = 300;

export type DeschedulingClient = ReturnType<typeof deschedulingClient>;

export function deschedulingClient(cluster: Client) {
  return {
    /** Those that are bound to a node, finished ones included. */
    listPods: () => cluster.list("pods", { unlike: { "spec.nodeName": [""] }, as: scheduledPodSchema() }),
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
