/** The lists that a preflight reads: nodes with their room, two of pods, budgets, quotas, and the volumes. */
import type { NeighbourPod, PreflightPod, QuotaFacts, Volume } from "../policy/preflight/facts.ts";
import { neighbourPodSchema, PersistentVolume, preflightPodSchema, ResourceQuota } from "./kinds/preflight.ts";
import { Budget } from "./kinds/kubernetes.ts";
import { NodeWithResources } from "./kinds/scheduled-pod.ts";
import { type OnOddItem, readAll } from "./read.ts";
import type { Send } from "./transport.ts";

export interface Listed<T> {
  readonly items: readonly T[];
  /** How many could not be understood. */
  readonly odd: number;
}

export function preflightReads(send: Send, onOddItem: OnOddItem) {
  const list = async <T>(read: (count: OnOddItem) => Promise<readonly T[]>): Promise<Listed<T>> => {
    let odd = 0;
    const items = await read((resource, issue) => {
      odd += 1;
      onOddItem(resource, issue);
    });
    return { items, odd };
  };
  return {
    listNodesWithRoom: () => readAll(send, { resource: "nodes", schema: NodeWithResources, onOddItem }),
    /** All, not only ours: evictions ask every budget. */
    listAllBudgets: () => readAll(send, { resource: "poddisruptionbudgets", schema: Budget, onOddItem }),
    listPreflightPods: (node: string): Promise<Listed<PreflightPod>> =>
      list((count) => {
        const fieldSelector = `spec.nodeName=${node}`;
        return readAll(send, { resource: "pods", fieldSelector, schema: preflightPodSchema(), onOddItem: count });
      }),
    /** Bound to other nodes, and not ended. */
    listNeighbours: (node: string): Promise<Listed<NeighbourPod>> =>
      list((count) => {
        const fieldSelector = `spec.nodeName!=,spec.nodeName!=${node},status.phase!=Succeeded,status.phase!=Failed`;
        return readAll(send, { resource: "pods", fieldSelector, schema: neighbourPodSchema(), onOddItem: count });
      }),
    listQuotas: (): Promise<Listed<QuotaFacts>> =>
      list((count) => readAll(send, { resource: "resourcequotas", schema: ResourceQuota, onOddItem: count })),
    /** Those that not every node reaches, with the claims that they say themselves: claims need not be read. */
    listVolumes: (): Promise<Listed<Volume>> =>
      list(async (count) => {
        const all = await readAll(send, { resource: "persistentvolumes", schema: PersistentVolume, onOddItem: count });
        return all.filter((volume) => volume !== undefined);
      }),
  };
}
