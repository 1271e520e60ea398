/** Policy files, made from their parts. */
import { dump } from "js-yaml";
import type * as z from "zod/mini";
import { EvictorArguments } from "../../shared/descheduling/plugins/default-evictor-arguments.ts";
import { lowNodeUtilization } from "../../shared/descheduling/plugins/low-node-utilization.ts";
import { nodeAffinity } from "../../shared/descheduling/plugins/node-affinity.ts";
import { nodeTaints } from "../../shared/descheduling/plugins/node-taints.ts";
import { podLifeTime } from "../../shared/descheduling/plugins/pod-life-time.ts";
import { parseDeschedulerPolicy, PolicyFile } from "../../shared/descheduling/policy-file.ts";

export const HEAD = { apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy" };
export const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
export const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

/** A file with these keys besides. */
export function parse(tweak: Readonly<Record<string, unknown>>) {
  return parseDeschedulerPolicy(dump({ ...HEAD, ...tweak }));
}

/** Every plugin, with the fewest arguments that it takes. */
export const LEAST = {
  LowNodeUtilization: { thresholds: { cpu: 20 }, targetThresholds: { cpu: 50 } },
  RemovePodsViolatingNodeTaints: {},
  RemovePodsViolatingNodeAffinity: { nodeAffinityType: [REQUIRED] },
  PodLifeTime: { maxPodLifeTimeSeconds: 60 },
  DefaultEvictor: {},
};

export type PluginName = keyof typeof LEAST;

export function configured(...names: readonly PluginName[]) {
  return names.map((name) => ({ name, args: LEAST[name] }));
}

const ALL = Object.entries(LEAST).map(([name, args]) => ({ name, args }));

/** One profile with these plugins, all of which are configured. */
export function withPlugins(plugins: unknown, pluginConfig: unknown = ALL) {
  return { profiles: [{ name: "p", pluginConfig, plugins }] };
}

const SELECTOR = { matchLabels: { app: "db" }, matchExpressions: [{ key: "tier", operator: "In", values: ["a"] }] };
const SELECTION = { namespaces: { include: ["a"] }, labelSelector: SELECTOR };

/** A file and the arguments of each plugin, with every key there is. */
export const FULL = {
  file: {
    ...HEAD,
    nodeSelector: "zone=a",
    maxNoOfPodsToEvictPerNode: 1,
    maxNoOfPodsToEvictPerNamespace: 1,
    maxNoOfPodsToEvictTotal: 1,
    maxNoOfPodsEvacuationsPerNode: 1,
    maxNoOfPodsEvacuationsPerNamespace: 1,
    maxEvacuationRequestTTL: "5m",
    evictionMessagePrefixes: ["Eviction triggered"],
    evictionFailureEventNotification: true,
    gracePeriodSeconds: 5,
    profiles: [
      {
        name: "p",
        pluginConfig: [{ name: "PodLifeTime", args: {} }],
        plugins: {
          deschedule: { enabled: ["PodLifeTime"] },
          balance: { enabled: ["LowNodeUtilization"] },
          filter: { enabled: ["DefaultEvictor"] },
          preevictionfilter: { enabled: ["DefaultEvictor"] },
        },
      },
    ],
  },
  LowNodeUtilization: {
    useDeviationThresholds: false,
    thresholds: { cpu: 20, memory: 20 },
    targetThresholds: { cpu: 50, memory: 50 },
    numberOfNodes: 1,
    evictableNamespaces: { exclude: ["kube-system"] },
    evictionLimits: { node: 2 },
  },
  RemovePodsViolatingNodeTaints: {
    ...SELECTION,
    includePreferNoSchedule: true,
    excludedTaints: ["a", "b=c"],
    includedTaints: [],
  },
  RemovePodsViolatingNodeAffinity: { ...SELECTION, nodeAffinityType: [PREFERRED, REQUIRED] },
  PodLifeTime: {
    ...SELECTION,
    maxPodLifeTimeSeconds: 60,
    states: ["Running", "CrashLoopBackOff"],
    ownerKinds: { include: ["VirtualMachineInstance"] },
    includingInitContainers: true,
  },
  DefaultEvictor: {
    nodeSelector: "zone=a",
    labelSelector: SELECTOR,
    namespaceLabelSelector: SELECTOR,
    priorityThreshold: { value: 5 },
    nodeFit: true,
    minReplicas: 2,
    minPodAge: "5m",
    noEvictionPolicy: "Mandatory",
    podProtections: {
      defaultDisabled: ["DaemonSetPods"],
      extraEnabled: ["PodsWithPVC"],
    },
  },
};

export type DocumentName = keyof typeof FULL;

export const SCHEMA: Readonly<Record<DocumentName, z.ZodMiniType>> = {
  file: PolicyFile,
  LowNodeUtilization: lowNodeUtilization.arguments,
  RemovePodsViolatingNodeTaints: nodeTaints.arguments,
  RemovePodsViolatingNodeAffinity: nodeAffinity.arguments,
  PodLifeTime: podLifeTime.arguments,
  DefaultEvictor: EvictorArguments,
};
