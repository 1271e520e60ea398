/** The arguments of the descheduling plugins, defaults filled in. Upstream: descheduler/v1alpha2 plugin arguments. */
import type { LabelSelector } from "../../policy/facts.ts";

/** Only one of the two is given; neither: all namespaces. */
export interface NamespacesArgument {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** Of every plugin that nominates. */
export interface CommonArguments {
  /** Whether pods whose evacuation is in progress are nominated before all others. */
  readonly sort: boolean;
}

/** Of the plugins that choose among all pods of a node. */
export interface PodSelection extends CommonArguments {
  readonly namespaces?: NamespacesArgument;
  readonly labelSelector?: LabelSelector;
}

/** Percent by resource name, 0 to 100. */
export type ResourceThresholds = Readonly<Record<string, number>>;

export interface LowNodeUtilizationArguments extends CommonArguments {
  readonly useDeviationThresholds: boolean;
  readonly thresholds: ResourceThresholds;
  readonly targetThresholds: ResourceThresholds;
  readonly numberOfNodes: number;
  readonly evictableNamespaces?: { readonly exclude: readonly string[] };
  readonly evictionLimits?: { readonly node?: number };
}

export interface NodeTaintsArguments extends PodSelection {
  readonly includePreferNoSchedule: boolean;
  /** `key` or `key=value`; only one of the two lists is given. */
  readonly excludedTaints: readonly string[];
  readonly includedTaints: readonly string[];
}

export type NodeAffinityType =
  "requiredDuringSchedulingIgnoredDuringExecution" | "preferredDuringSchedulingIgnoredDuringExecution";

export interface NodeAffinityArguments extends PodSelection {
  readonly nodeAffinityType: readonly NodeAffinityType[];
}

export interface PodLifeTimeArguments extends PodSelection {
  readonly maxPodLifeTimeSeconds?: number;
  readonly states: readonly string[];
  readonly conditions: readonly PodConditionArgument[];
  readonly exitCodes: readonly number[];
  readonly ownerKinds?: { readonly include?: readonly string[]; readonly exclude?: readonly string[] };
  readonly includingInitContainers: boolean;
  readonly includingEphemeralContainers: boolean;
}

/** What is given must be equal. */
export interface PodConditionArgument {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly minTimeSinceLastTransitionSeconds?: number;
}

export const DEFAULT_PROTECTIONS = [
  "PodsWithLocalStorage",
  "SystemCriticalPods",
  "FailedBarePods",
  "DaemonSetPods",
] as const;
export const EXTRA_PROTECTIONS = ["PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"] as const;

export type PodProtection = (typeof DEFAULT_PROTECTIONS)[number] | (typeof EXTRA_PROTECTIONS)[number];

export interface DefaultEvictorArguments {
  /** Of the nodes that `nodeFit` looks at. */
  readonly nodeSelector?: LabelSelector;
  readonly labelSelector?: LabelSelector;
  readonly namespaceLabelSelector?: LabelSelector;
  readonly priorityThreshold?: { readonly value: number } | { readonly name: string };
  readonly nodeFit: boolean;
  /** Counts from 2 on. */
  readonly minReplicas: number;
  readonly minPodAgeSeconds?: number;
  /** Mandatory: `prefer-no-eviction` on a pod is obeyed. */
  readonly noEvictionPolicy: "Preferred" | "Mandatory";
  /** In force; `disabled` and deprecated flags are already taken off. */
  readonly protections: readonly PodProtection[];
  /** Names; empty: all. */
  readonly protectedStorageClasses: readonly string[];
}
