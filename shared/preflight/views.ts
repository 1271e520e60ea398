/** The views in which a preflight reads pods, volumes and quotas. */
import type { View } from "../facts/facts.ts";
import type { NeighbourPod, PreflightPod, QuotaFacts, Volume } from "./facts.ts";
import { PersistentVolume, ResourceQuota } from "./kinds.ts";
import { neighbourPodSchema, preflightPodSchema } from "./preflight-pod.ts";

/** Pods of a node to drain. */
export const PREFLIGHT_PODS: View<PreflightPod> = {
  resource: "pods",
  name: "PreflightPod",
  schema: preflightPodSchema,
};

/** Pods of other nodes: the room that they take. */
export const NEIGHBOUR_PODS: View<NeighbourPod> = {
  resource: "pods",
  name: "NeighbourPod",
  schema: neighbourPodSchema,
};

/** Volumes that only some nodes reach. Undefined: every node reaches the volume, or no claim is bound to it. */
export const VOLUMES: View<Volume | undefined> = {
  resource: "persistentvolumes",
  name: "Volume",
  schema: () => PersistentVolume,
};

export const QUOTAS: View<QuotaFacts> = { resource: "resourcequotas", name: "Quota", schema: () => ResourceQuota };
