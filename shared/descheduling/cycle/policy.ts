/** A descheduler policy in the form that a cycle uses: profiles of configured plugins, and limits over all profiles. */
import type { LabelSelector } from "../../kube/facts.ts";
import type { Evictor, EvictorWorld, Nominations, Plugin, PluginWorld } from "../plugins/plugin.ts";

/** The limits of a cycle. Absent: no limit. 0: no pod. */
export interface DeschedulingLimits {
  /** The maximum number of evictions in a cycle and evacuations in progress together. */
  readonly evictionsTotal?: number;
  readonly evictionsPerNode?: number;
  readonly evictionsPerNamespace?: number;
  /** The maximum number of evacuations in progress per node. */
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
  /** The nodes that plugins see. Absent: all nodes. */
  readonly nodeSelector?: LabelSelector;
  readonly limits: DeschedulingLimits;
  /**
   * How long an Evacuation may wait for its migration, and how long another party's eviction in the background is
   * counted against the limits.
   */
  readonly requestTtlSeconds: number;
  /** Prefixes of messages. An eviction whose answer starts with one of these prefixes continues in the background. */
  readonly messagePrefixes: readonly string[];
  /** The grace period of evicted pods. Absent: each pod's own. */
  readonly gracePeriodSeconds?: number;
  /** Whether a failed eviction gets an Event. */
  readonly notifyFailures: boolean;
  readonly profiles: readonly Profile[];
}
