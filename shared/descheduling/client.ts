/** What descheduling asks of a cluster; the client of the whole product includes it. */
import { Budget } from "../cluster/kinds/kubernetes.ts";
import { type OnOddItem, readAll, readOne } from "../cluster/read.ts";
import type { Send } from "../cluster/transport.ts";
import type { ActResult } from "../cluster/write.ts";
import type { BudgetFacts } from "../policy/facts.ts";
import type { EvictionAnswer } from "./cycle/eviction-answer.ts";
import type { Nominated } from "./cycle/nominations.ts";
import type { LeaseFacts } from "./cycle/lease.ts";
import type { DeschedulerNode, DeschedulerPod, Labels } from "./plugins/facts.ts";
import { deschedulerPodSchema, NodeWithResources } from "./reads/projections.ts";
import { Claim, Namespace, PriorityClass } from "./reads/schemas.ts";
import { evict, type EvictionOptions } from "./writes/evict.ts";
import { giveLeaseBack, readLease, takeLease } from "./writes/lease.ts";

export interface DeschedulingClient {
  listDeschedulerNodes(): Promise<readonly DeschedulerNode[]>;
  /** Those that are bound to a node, finished ones included. */
  listDeschedulerPods(): Promise<readonly DeschedulerPod[]>;
  /** All, not only ours: evictions ask every budget. */
  listAllBudgets(): Promise<readonly BudgetFacts[]>;
  /** By name. */
  listNamespaceLabels(): Promise<ReadonlyMap<string, Labels>>;
  /** Of PersistentVolumeClaims that have one, by `namespace/name`. */
  listStorageClassesOfClaims(): Promise<ReadonlyMap<string, string>>;
  getPriorityClassValue(name: string): Promise<number | undefined>;
  getDeschedulingLease(): Promise<LeaseFacts>;
  /** As it is once taken. Conflict: it is not what was found. */
  takeDeschedulingLease(found: LeaseFacts, now: Date): Promise<LeaseFacts | "Conflict">;
  giveDeschedulingLeaseBack(taken: LeaseFacts): Promise<ActResult>;
  /** A refusal is an answer, with its code and message. */
  evict(nominated: Nominated, options: Omit<EvictionOptions, "annotations">): Promise<EvictionAnswer>;
}

export function deschedulingClient(send: Send, onOddItem: OnOddItem): DeschedulingClient {
  return {
    listDeschedulerNodes: () => readAll(send, { onOddItem, resource: "nodes", schema: NodeWithResources }),
    listDeschedulerPods: () =>
      readAll(send, {
        onOddItem,
        resource: "pods",
        fieldSelector: "spec.nodeName!=",
        schema: deschedulerPodSchema(),
      }),
    listAllBudgets: () => readAll(send, { onOddItem, resource: "poddisruptionbudgets", schema: Budget }),
    async listNamespaceLabels() {
      const namespaces = await readAll(send, { onOddItem, resource: "namespaces", schema: Namespace });
      return new Map(namespaces.map(({ metadata: { name, labels } }) => [name, labels]));
    },
    async listStorageClassesOfClaims() {
      const claims = await readAll(send, { onOddItem, resource: "persistentvolumeclaims", schema: Claim });
      return new Map(
        claims.flatMap(({ metadata: { namespace, name }, spec: { storageClassName } }) =>
          storageClassName === undefined ? [] : [[`${namespace}/${name}`, storageClassName]],
        ),
      );
    },
    getPriorityClassValue: async (name) =>
      (await readOne(send, "priorityclasses", { namespace: "", name }, PriorityClass))?.value,
    getDeschedulingLease: () => readLease(send),
    takeDeschedulingLease: (found, now) => takeLease(send, found, now),
    giveDeschedulingLeaseBack: (taken) => giveLeaseBack(send, taken),
    evict: (nominated, options) => evict(send, nominated, options),
  };
}
