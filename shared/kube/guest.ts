/**
 * The fields of a VirtualMachineInstance, or of a VirtualMachine's template, from which KubeVirt renders a launcher
 * pod.
 */
import type { Toleration } from "./facts.ts";
import type { Labels, NodeSelectorTerm, PodTerm } from "./scheduled-pod.ts";

export interface GuestAsks {
  readonly nodeSelector: Labels;
  /** Required node affinity. */
  readonly required?: readonly NodeSelectorTerm[];
  readonly tolerations: readonly Toleration[];
  /** Required pod anti-affinity. */
  readonly antiAffinity: readonly PodTerm[];
  /** Names of the guest's fields that a preflight does not check. */
  readonly unchecked: readonly string[];
  /**
   * `host-model`, `host-passthrough` or the name of a model. If the model is absent, KubeVirt sets it when the VMI is
   * created.
   */
  readonly cpuModel?: string;
  /** CPU features that a node must not have. */
  readonly forbiddenFeatures: readonly string[];
  /** The number of the guest's threads, plus its supplemental I/O threads. */
  readonly vcpus?: number;
  readonly hasDedicatedCpus: boolean;
  /** The guest's memory in bytes. */
  readonly guestMemory?: number;
  /** The page size of hugepages, for example `1Gi`. */
  readonly hugepages?: string;
  /**
   * The memory request of `resources` in bytes, or the limit if there is no request. KubeVirt's overhead is not
   * included.
   */
  readonly requestedMemory?: number;
  /** Millicores. */
  readonly requestedCpu?: number;
}

/** Conditions of a VMI which say that a hotplug is in progress. */
export const HOTPLUGS = ["HotMemoryChange", "HotVCPUChange"] as const;

export interface GuestFacts {
  /** The requirements from which KubeVirt renders the VMI's next launcher pod. */
  readonly asks: GuestAsks;
  /** The number of virtual CPUs and the memory in bytes that the guest has now, while a hotplug adds more. */
  readonly currentVcpus?: number;
  readonly currentMemory?: number;
  /** Hotplugs in progress. Absent: none. */
  readonly hotplugs?: readonly (typeof HOTPLUGS)[number][];
}

/** Facts of a VirtualMachine that decide the launcher pod of its next start. */
export interface NextStart {
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
