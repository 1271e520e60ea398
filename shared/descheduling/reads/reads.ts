/**
 * What a descheduling cycle reads of a cluster.
 * Owns: those requests. Does not own: when which of them is made (shared/pass), what the answers become
 * (projections.ts).
 */
import type { BudgetFacts } from "../../policy/facts.ts";
import type { DeschedulerNode, DeschedulerPod, Labels } from "../plugins/facts.ts";
import { deschedulerPodSchema, NodeWithResources } from "./projections.ts";
import { Claim, Namespace, PriorityClass } from "./schemas.ts";
import { Budget } from "../../cluster/kinds/kubernetes.ts";
import { type OnOddItem, readAll, readOne } from "../../cluster/read.ts";
import type { Send } from "../../cluster/transport.ts";

export interface DeschedulingReads {
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
}

export function deschedulingReads(send: Send, onOddItem: OnOddItem): DeschedulingReads {
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
  };
}
