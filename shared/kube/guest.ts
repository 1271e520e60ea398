/** What a VirtualMachineInstance, or the template of a VirtualMachine, asks for, as far as KubeVirt renders it into a launcher pod. */
import type { Toleration } from "./facts.ts";
import type { Labels, NodeSelectorTerm, PodTerm } from "./scheduled-pod.ts";

export interface GuestAsks {
  readonly nodeSelector: Labels;
  /** Required node affinity. */
  readonly required?: readonly NodeSelectorTerm[];
  readonly tolerations: readonly Toleration[];
  /** Required pod anti-affinity. */
  readonly antiAffinity: readonly PodTerm[];
  /** Fields that a preflight does not judge. */
  readonly unchecked: readonly string[];
  /** `host-model`, `host-passthrough` or a name. KubeVirt fills it in when the VMI is created. */
  readonly cpuModel?: string;
  /** CPU features that a node must not have. */
  readonly forbiddenFeatures: readonly string[];
  /** Threads of the guest and its supplemental I/O threads. */
  readonly vcpus?: number;
  readonly hasDedicatedCpus: boolean;
  /** Bytes. */
  readonly guestMemory?: number;
  /** For example `1Gi`. */
  readonly hugepages?: string;
  /** Memory in bytes that `resources` requests, or limits if it requests none; KubeVirt adds its overhead. */
  readonly requestedMemory?: number;
  /** Millicores. */
  readonly requestedCpu?: number;
}

/** Conditions of a VMI: a hotplug is in progress. */
export const HOTPLUGS = ["HotMemoryChange", "HotVCPUChange"] as const;

/** Of a VMI. */
export interface GuestFacts {
  /** What its next launcher pod is rendered from. */
  readonly asks: GuestAsks;
  /** While a hotplug is in progress it has less than it asks for. Memory in bytes. */
  readonly currentVcpus?: number;
  readonly currentMemory?: number;
  /** Those that are True. Absent: none. */
  readonly hotplugs?: readonly (typeof HOTPLUGS)[number][];
}

/** Of a VirtualMachine: what its next start is rendered from. */
export interface StartFacts {
  readonly template?: GuestAsks | undefined;
  readonly hasInstancetype: boolean;
  readonly restartRequired: boolean;
}

export const PLAIN: GuestAsks = {
  nodeSelector: {},
  tolerations: [],
  antiAffinity: [],
  unchecked: [],
  forbiddenFeatures: [],
  hasDedicatedCpus: false,
};
