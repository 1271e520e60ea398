/** Selects and parses the pods, volumes and quotas that a preflight reads. */
import type { View } from "../facts/facts.ts";
import type { NeighbourPod, PreflightPod, QuotaFacts, Volume } from "./facts.ts";
import { PersistentVolume, ResourceQuota } from "./kinds.ts";
import { neighbourPodSchema, preflightPodSchema } from "./preflight-pod.ts";

export const PREFLIGHT_PODS: View<PreflightPod> = {
  resource: "pods",
  name: "PreflightPod",
  schema: preflightPodSchema,
};

/** Pods of other nodes. They use resources of these nodes. */
export const NEIGHBOUR_PODS: View<NeighbourPod> = {
  resource: "pods",
  name: "NeighbourPod",
  schema: neighbourPodSchema,
};

/**
 * A volume that only some nodes can access. Undefined if every node can access the volume, or if it is not bound to a
 * claim.
 */
export const VOLUMES: View<Volume | undefined> = {
  resource: "persistentvolumes",
  name: "Volume",
  schema: () => PersistentVolume,
};

export const QUOTAS: View<QuotaFacts> = { resource: "resourcequotas", name: "Quota", schema: () => ResourceQuota };
