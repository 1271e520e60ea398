/** Creates priority classes and ordinary pods. */
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
  /** The node of the pod. The scheduler ignores a pod with this field. */
  readonly node?: string;
  readonly nodeSelector?: Record<string, string>;
  readonly priorityClassName?: string;
  readonly tolerations?: Spec["tolerations"];
  readonly requests?: Record<string, string>;
  readonly graceSeconds?: number;
  readonly podGroup?: string;
}

/** Creates a pod. Does not wait until the pod runs. */
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
