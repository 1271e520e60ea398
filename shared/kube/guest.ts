/** Defines the fields of a VMI, or of a VM's template, from which KubeVirt creates a launcher pod. */
import type { Toleration } from "./facts.ts";
import type { Labels, NodeSelectorTerm, PodTerm } from "./scheduled-pod.ts";

export interface GuestAsks {
  readonly nodeSelector: Labels;
  readonly required?: readonly NodeSelectorTerm[];
  readonly tolerations: readonly Toleration[];
  readonly antiAffinity: readonly PodTerm[];
  /** The names of fields that Lifeboat does not check when it predicts on which nodes the VM can run. */
  readonly unchecked: readonly string[];
  /**
   * The CPU model: `host-model`, `host-passthrough` or a name. If absent, KubeVirt sets the model when it creates the
   * VMI.
   */
  readonly cpuModel?: string;
  /** CPU features that a node must not have. */
  readonly forbiddenFeatures: readonly string[];
  /** The number of the guest's virtual CPUs plus the number of its supplemental I/O threads. */
  readonly vcpus?: number;
  readonly hasDedicatedCpus: boolean;
  /** The guest's memory in bytes. */
  readonly guestMemory?: number;
  /** The page size of hugepages, for example `1Gi`. */
  readonly hugepages?: string;
  /** The memory request in bytes, or the limit if there is no request. KubeVirt's overhead is not included. */
  readonly requestedMemory?: number;
  /** The CPU request in millicores. */
  readonly requestedCpu?: number;
}

/** The conditions of a VMI with a hotplug in progress. */
export const HOTPLUGS = ["HotMemoryChange", "HotVCPUChange"] as const;

export interface GuestFacts {
  /** The requirements from which KubeVirt creates the VMI's next launcher pod. */
  readonly asks: GuestAsks;
  /** The guest's present number of virtual CPUs and memory in bytes, if a hotplug is in progress. */
  readonly currentVcpus?: number;
  readonly currentMemory?: number;
  /** The hotplugs in progress. Absent if there are none. */
  readonly hotplugs?: readonly (typeof HOTPLUGS)[number][];
}

/** The fields of a VirtualMachine that determine its next launcher pod. */
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
