/** The descheduler policy of a cycle: profiles with plugins, and limits for all profiles together. */
import type { LabelSelector } from "../../kube/facts.ts";
import type { Evictor, EvictorWorld, Nominations, Plugin, PluginWorld } from "../plugins/plugin.ts";

/** The limits of a cycle. An undefined limit allows any number of pods, and 0 allows no pod. */
export interface DeschedulingLimits {
  /** The maximum sum of this cycle's evictions and the active evacuations. */
  readonly evictionsTotal?: number;
  readonly evictionsPerNode?: number;
  readonly evictionsPerNamespace?: number;
  readonly evacuationsPerNode?: number;
  readonly evacuationsPerNamespace?: number;
}

export interface EnabledPlugin extends Pick<Plugin<never>, "name" | "extensionPoint"> {
  nominate(world: PluginWorld): Nominations;
}

export interface Profile {
  readonly name: string;
  evictor(world: EvictorWorld): Evictor;
  /** The plugins, in the order of the policy file. */
  readonly plugins: readonly EnabledPlugin[];
}

export interface DeschedulerPolicy {
  /** Selects the nodes for plugins. If it is undefined, plugins receive all Ready nodes. */
  readonly nodeSelector?: LabelSelector;
  readonly limits: DeschedulingLimits;
  /**
   * The maximum time, in seconds, that an Evacuation may wait for its migration. If another
   * party has agreed to evict a pod, the pod counts toward the limits for the same length of time.
   */
  readonly requestTtlSeconds: number;
  /** An answer that starts with one of these texts means that the pod is evicted later. */
  readonly messagePrefixes: readonly string[];
  /** The grace period of evicted pods. The default is the pod's own grace period. */
  readonly gracePeriodSeconds?: number;
  readonly notifyFailures: boolean;
  readonly profiles: readonly Profile[];
}
