/** Creates what runs in a cluster beside virtual machines: priority classes and plain pods. */
import type { KubeClient } from "./actors/client.ts";
import { pods, priorityClasses, type Pod, type PriorityClass } from "./actors/resources.ts";

export interface PriorityClassOptions {
  readonly preemptionPolicy?: "PreemptLowerPriority" | "Never";
  readonly globalDefault?: boolean;
}

export function createPriorityClass(
  client: KubeClient,
  name: string,
  value: number,
  options: PriorityClassOptions = {},
): Promise<PriorityClass> {
  return client.create(priorityClasses, { metadata: { name }, value, ...options });
}

type Spec = NonNullable<Pod["spec"]>;

export interface PlainPod {
  readonly namespace?: string;
  readonly name: string;
  readonly labels?: Record<string, string>;
  /** Bound to this node from the start, without the scheduler, as the pods of a DaemonSet or static pods are. */
  readonly node?: string;
  /** The scheduler may place it on nodes with these labels. */
  readonly nodeSelector?: Record<string, string>;
  readonly priorityClassName?: string;
  readonly tolerations?: Spec["tolerations"];
  readonly requests?: Record<string, string>;
  readonly graceSeconds?: number;
  /** The PodGroup with whose other pods it preempts. */
  readonly podGroup?: string;
}

/** Resolves when the pod exists; it may still wait for a node. */
export function createPod(client: KubeClient, pod: PlainPod): Promise<Pod> {
  const { namespace = "default", name, labels, node, requests = {}, graceSeconds = 30, ...rest } = pod;
  const { priorityClassName, tolerations, nodeSelector, podGroup } = rest;
  return client.create(pods, {
    metadata: { namespace, name, ...(labels && { labels }) },
    spec: {
      containers: [{ name: "main", image: "registry.k8s.io/pause:3.10", resources: { requests } }],
      terminationGracePeriodSeconds: graceSeconds,
      ...(node !== undefined && { nodeName: node }),
      ...(priorityClassName !== undefined && { priorityClassName }),
      ...(tolerations && { tolerations }),
      ...(nodeSelector && { nodeSelector }),
      ...(podGroup !== undefined && { schedulingGroup: { podGroupName: podGroup } }),
    },
  });
}
