/** Contains views of pods and nodes that several folders use. */
import { NodeWithResources, scheduledPodSchema } from "../kube/schemas/scheduled-pod.ts";
import type { ScheduledNode, ScheduledPod } from "../kube/scheduled-pod.ts";
import type { View } from "./facts.ts";

/** Nodes with their allocatable resources. */
export const ROOMY_NODES: View<ScheduledNode> = { resource: "nodes", name: "Roomy", schema: () => NodeWithResources };

/** Pods with all labels, because a PodDisruptionBudget can select by any label. */
export const SCHEDULED_PODS: View<ScheduledPod> = { resource: "pods", name: "Scheduled", schema: scheduledPodSchema };
