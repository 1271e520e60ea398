/** Converts facts about pods and nodes to objects of the API server. */
import type { NodeFacts, OwnerReference, PodFacts } from "../../../shared/kube/facts.ts";
import * as names from "../../../shared/kube/names.ts";
import type { Labels, NodeRequirements, PodTerm, Resources } from "../../../shared/kube/scheduled-pod.ts";
import type { JsonObject } from "../json.ts";
import { identity, object, timeOf } from "./objects.ts";

export interface AnyPod extends PodFacts {
  readonly resourceVersion?: string;
  readonly hasAnnotations?: boolean;
  readonly createdAt?: number;
  readonly startedAt?: number;
  readonly qosClass?: string;
  readonly requests?: Resources;
  readonly limits?: Resources;
  readonly placement?: NodeRequirements;
  readonly antiAffinity?: readonly PodTerm[];
  readonly localStorage?: boolean;
  readonly claims?: readonly string[];
  readonly goneBy?: number;
  readonly finalizers?: readonly string[];
}

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

export function podObject(pod: AnyPod): JsonObject {
  const { hasAnnotations = true, annotations, labels, owners, createdAt = 0, goneBy, finalizers } = pod;
  return object({
    kind: "Pod",
    metadata: {
      ...identity(pod),
      ...(goneBy !== undefined && { deletionTimestamp: timeOf(goneBy) }),
      creationTimestamp: timeOf(createdAt),
      labels,
      ...(hasAnnotations && { annotations }),
      ownerReferences: owners.map((owner: OwnerReference) => ({ ...owner })),
      finalizers,
    },
    spec: { nodeName: pod.nodeName, priority: pod.priority, tolerations: pod.tolerations, ...specOf(pod) },
    status: {
      phase: pod.phase,
      qosClass: pod.qosClass,
      startTime: timeOf(pod.startedAt),
      conditions: conditionsOf(pod),
    },
  });
}

function specOf(pod: AnyPod) {
  const { placement, requests = {}, limits = {}, localStorage = false, claims = [] } = pod;
  return {
    nodeSelector: placement?.nodeSelector,
    affinity: {
      nodeAffinity: {
        [REQUIRED]: placement?.required && { nodeSelectorTerms: placement.required },
      },
      podAntiAffinity: { [REQUIRED]: pod.antiAffinity?.map(termOf) },
    },
    containers: [{ name: "main", resources: { requests: quantities(requests), limits: quantities(limits) } }],
    volumes: [
      ...(localStorage ? [{ emptyDir: {} }] : []),
      ...claims.map((claimName) => ({ persistentVolumeClaim: { claimName } })),
    ],
  };
}

function termOf({ selector: labelSelector, allNamespaces, ...term }: PodTerm) {
  return { ...term, labelSelector, ...(allNamespaces === true && { namespaceSelector: {} }) };
}

function quantities(resources: Resources): Labels {
  return Object.fromEntries(
    Object.entries(resources).map(([name, amount]) => [name, name === "cpu" ? `${amount}m` : String(amount)]),
  );
}

function conditionsOf({ ready, disruptionTarget, unschedulable }: PodFacts): readonly object[] {
  const { active, since, ...why } = disruptionTarget ?? { active: false, since: "" };
  return [
    { type: "Ready", status: ready ? "True" : "False" },
    ...(disruptionTarget === undefined
      ? []
      : [{ type: "DisruptionTarget", status: active ? "True" : "False", lastTransitionTime: since, ...why }]),
    ...(unschedulable === undefined
      ? []
      : [
          {
            type: "PodScheduled",
            status: "False",
            reason: "Unschedulable",
            message: unschedulable.message,
            lastTransitionTime: unschedulable.since,
          },
        ]),
  ];
}

interface AnyNode extends NodeFacts {
  readonly labels?: Labels;
  readonly allocatable?: Resources;
}

/** Returns a Node. By default, the node can run 110 pods and has 64 GiB of memory. */
export function nodeObject(node: AnyNode): JsonObject {
  const { name, ready, unschedulable, taints, pressures, endsAt, labels, virtHandler } = node;
  const { allocatable = { memory: 64 * 2 ** 30, pods: 110 } } = node;
  return object({
    kind: "Node",
    metadata: {
      name,
      uid: `uid-of-${name}`,
      resourceVersion: "1",
      labels: { ...labels, ...(virtHandler && { [names.SCHEDULABLE_LABEL]: String(virtHandler.isSchedulable) }) },
      annotations: { [names.TERMINATION_ANNOTATION]: endsAt, [names.HEARTBEAT_ANNOTATION]: virtHandler?.saidAt },
    },
    spec: { unschedulable, taints },
    status: {
      conditions: [
        { type: "Ready", status: ready ? "True" : "False" },
        ...pressures.map((type) => ({ type, status: "True" })),
      ],
      allocatable: quantities(allocatable),
    },
  });
}
