/** What descheduling asks of a cluster, beside what all of Lifeboat does. */
import * as z from "zod/mini";
import type { ClusterOptions } from "../cluster/cluster.ts";
import { type EvictionOptions, requestEviction } from "../cluster/evict.ts";
import { Text, TextsOrNone } from "../cluster/kinds/fields.ts";
import { scheduledPodSchema } from "../cluster/kinds/scheduled-pod.ts";
import { giveLeaseBack, type LeaseFacts, readLease, takeLease } from "../cluster/lease.ts";
import { readAll, readOne } from "../cluster/read.ts";
import { sender } from "../cluster/transport.ts";
import type { Labels } from "../policy/kube/placement.ts";
import * as names from "../policy/names.ts";
import type { Nominated } from "./cycle/nominations.ts";

const Namespace = z.lazy(() => z.object({ metadata: z.object({ name: z.string(), labels: TextsOrNone }) }));

const Claim = z.lazy(() =>
  z.object({
    metadata: z.object({ namespace: z.string(), name: z.string() }),
    spec: z.object({ storageClassName: Text }),
  }),
);

const PriorityClass = z.lazy(() => z.object({ value: z._default(z.number(), 0) }));

const LEASE = { namespace: names.LIFEBOAT_NAMESPACE, name: names.DESCHEDULING };
/** Longer than a cycle lives, with a minute for clocks that differ. A cycle takes it once and never renews it. */
export const LEASE_SECONDS = 300;

export type DeschedulingClient = ReturnType<typeof deschedulingClient>;

export function deschedulingClient(options: Pick<ClusterOptions, "endpoint" | "signal" | "hold" | "onOddItem">) {
  const { onOddItem } = options;
  const send = sender(options.endpoint, options.signal, options.hold);
  return {
    /** Those that are bound to a node, finished ones included. */
    listPods: () =>
      readAll(send, { onOddItem, resource: "pods", fieldSelector: "spec.nodeName!=", schema: scheduledPodSchema() }),
    /** By name. */
    async listNamespaceLabels(): Promise<ReadonlyMap<string, Labels>> {
      const namespaces = await readAll(send, { onOddItem, resource: "namespaces", schema: Namespace });
      return new Map(namespaces.map(({ metadata: { name, labels } }) => [name, labels]));
    },
    /** Of PersistentVolumeClaims that have one, by `namespace/name`. */
    async listStorageClassesOfClaims(): Promise<ReadonlyMap<string, string>> {
      const claims = await readAll(send, { onOddItem, resource: "persistentvolumeclaims", schema: Claim });
      return new Map(
        claims.flatMap(({ metadata: { namespace, name }, spec: { storageClassName } }) =>
          storageClassName === undefined ? [] : [[`${namespace}/${name}`, storageClassName]],
        ),
      );
    },
    getPriorityClassValue: async (name: string) =>
      (await readOne(send, "priorityclasses", { namespace: "", name }, PriorityClass))?.value,
    getLease: () => readLease(send, LEASE),
    /** As it is once taken. Conflict: it is not what was found. */
    takeLease: (found: LeaseFacts, now: Date) =>
      takeLease(send, LEASE, found, { holder: names.MANAGED_BY, seconds: LEASE_SECONDS, now }),
    giveLeaseBack: (taken: LeaseFacts) => giveLeaseBack(send, LEASE, taken),
    // In the descheduler's name and with its form of a reason, so that the webhook that reviews the eviction knows the cause.
    evict: ({ pod, profile, plugin, reason = "" }: Nominated, options: Omit<EvictionOptions, "annotations">) =>
      requestEviction(send, pod, {
        ...options,
        annotations: {
          [names.REQUESTED_BY_ANNOTATION]: names.DESCHEDULER,
          [names.REASON_ANNOTATION]: `triggered by ${profile}/${plugin}: ${reason}`,
        },
      }),
  };
}
