/** Views of pods and nodes that more than one folder reads. */
import { NodeWithResources, scheduledPodSchema } from "../kube/schemas/scheduled-pod.ts";
import type { ScheduledNode, ScheduledPod } from "../kube/scheduled-pod.ts";
import type { View } from "./facts.ts";

/** Nodes with what they have room for. */
export const ROOMY_NODES: View<ScheduledNode> = { resource: "nodes", name: "Roomy", schema: () => NodeWithResources };

/** Pods with every label, as budgets select by any. */
export const SCHEDULED_PODS: View<ScheduledPod> = { resource: "pods", name: "Scheduled", schema: scheduledPodSchema };
