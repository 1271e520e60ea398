/** From parsed nodes and pods to descheduling's facts, small enough for fifty thousand pods in a Worker. */
import * as z from "zod/mini";
import type { DeschedulerNode, DeschedulerPod, PodCondition, PodState } from "../plugins/facts.ts";
import { AntiAffinity, Asked, Computed, DeschedulerPodObject, Tolerations } from "./schemas.ts";
import { resourcesOf } from "./pod-resources.ts";
import { nodeFacts, NodeObject } from "../../cluster/kinds/kubernetes.ts";
import { type Issues, remembered, rememberedValue } from "./remembered.ts";

export const NodeWithResources = z.lazy(() =>
  z.pipe(
    NodeObject,
    z.transform((node): DeschedulerNode => {
      const { allocatable, capacity } = node.status;
      return {
        ...nodeFacts(node),
        labels: node.metadata.labels ?? {},
        allocatable: resourcesOf(Object.keys(allocatable).length === 0 ? capacity : allocatable),
      };
    }),
  ),
);

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

type PodObject = z.output<typeof DeschedulerPodObject>;

/** For the pods of one list: it remembers what they have in common. */
export function deschedulerPodSchema() {
  const memory = newMemory();
  return z.pipe(
    DeschedulerPodObject,
    z.transform((pod, { issues }): DeschedulerPod => deschedulerPod(pod, memory, issues)),
  );
}

type Memory = ReturnType<typeof newMemory>;

function newMemory() {
  return {
    computed: remembered(Computed, ["spec"]),
    placement: remembered(Asked, ["spec"]),
    antiAffinity: remembered(AntiAffinity, ["spec", "affinity", "podAntiAffinity", REQUIRED]),
    tolerations: remembered(Tolerations, ["spec", "tolerations"]),
    text: rememberedValue<string>(),
    states: rememberedValue<readonly PodState[]>(),
  };
}

function deschedulerPod({ metadata, spec, status }: PodObject, memory: Memory, issues: Issues): DeschedulerPod {
  const { nodeSelector, affinity } = spec;
  const { requests, qosClass } = memory.computed(computedFrom(spec), issues);
  const antiAffinity = affinity?.podAntiAffinity?.[REQUIRED];
  return {
    namespace: memory.text(metadata.namespace),
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    deleting: metadata.deletionTimestamp !== undefined,
    phase: memory.text(status.phase),
    nodeName: memory.text(spec.nodeName),
    ready: status.conditions.some(({ type, status }) => type === "Ready" && status === "True"),
    labels: metadata.labels,
    annotations: metadata.annotations.known,
    hasAnnotations: metadata.annotations.exists,
    owners: metadata.ownerReferences.map((owner) => ({ ...owner, kind: memory.text(owner.kind) })),
    ...(spec.priority === undefined || spec.priority === null ? {} : { priority: spec.priority }),
    tolerations: memory.tolerations(spec.tolerations, issues),
    createdAt: metadata.creationTimestamp,
    ...(status.startTime === undefined || status.startTime === null ? {} : { startedAt: status.startTime }),
    qosClass: status.qosClass ?? qosClass,
    requests,
    placement: memory.placement({ nodeSelector, nodeAffinity: affinity?.nodeAffinity }, issues),
    antiAffinity: memory.antiAffinity(antiAffinity, issues),
    localStorage: spec.volumes.some(({ emptyDir, hostPath }) => Boolean(emptyDir) || Boolean(hostPath)),
    claims: claimsOf(spec),
    hasResourceClaims: spec.resourceClaims.length > 0,
    states: memory.states(statesOf(status)),
    conditions: status.conditions.map((condition) => conditionOf(condition, memory)),
  };
}

const NO_CLAIMS: readonly string[] = [];

function claimsOf({ volumes }: PodObject["spec"]): readonly string[] {
  const claims = volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? NO_CLAIMS);
  // A copy has no spare capacity; the result of flatMap does.
  return claims.length === 0 ? NO_CLAIMS : [...claims];
}

type Condition = PodObject["status"]["conditions"][number];

function conditionOf({ type, status, reason, lastTransitionTime }: Condition, { text }: Memory): PodCondition {
  const since = Date.parse(lastTransitionTime ?? "");
  const words = { type: text(type), status: text(status), reason: text(reason ?? "") };
  if (Number.isNaN(since)) return words;
  // Not spread: that would take twice the room.
  return { type: words.type, status: words.status, reason: words.reason, since };
}

function computedFrom({ containers, initContainers, overhead, resources }: PodObject["spec"]) {
  return { containers: containers.map((container) => container.resources), initContainers, overhead, pod: resources };
}

function statesOf(status: PodObject["status"]): readonly PodState[] {
  const { reason, containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  const ofPod: readonly PodState[] = reason === undefined ? [] : [{ of: "Pod", reason }];
  return [
    ...ofPod,
    ...containerStatuses.flatMap((container) => statesOfOne(container, "Container")),
    ...initContainerStatuses.flatMap((container) => statesOfOne(container, "InitContainer")),
    ...ephemeralContainerStatuses.flatMap((container) => statesOfOne(container, "EphemeralContainer")),
  ];
}

type ContainerStatus = PodObject["status"]["containerStatuses"][number];

function statesOfOne({ state }: ContainerStatus, of: PodState["of"]): readonly PodState[] {
  const waiting = state?.waiting?.reason;
  const { reason, exitCode } = state?.terminated ?? {};
  return [
    ...(waiting === undefined ? [] : [{ of, reason: waiting }]),
    ...(exitCode === undefined ? [] : [{ of, ...(reason === undefined ? {} : { reason }), exitCode }]),
  ];
}
