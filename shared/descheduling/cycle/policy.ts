/** A descheduler policy as a cycle carries it out: profiles of configured plugins, and limits over all profiles. */
import type { LabelSelector } from "../../kube/facts.ts";
import type { Evictor, EvictorWorld, Nominations, Plugin, PluginWorld } from "../plugins/plugin.ts";

/** Absent: no limit; 0: no pod. */
export interface DeschedulingLimits {
  /** Pods evicted in a cycle and pods whose evacuation is in progress, together. */
  readonly evictionsTotal?: number;
  readonly evictionsPerNode?: number;
  readonly evictionsPerNamespace?: number;
  /** Evacuations in progress. */
  readonly evacuationsPerNode?: number;
  readonly evacuationsPerNamespace?: number;
}

/** A plugin with its arguments. */
export interface EnabledPlugin extends Pick<Plugin<never>, "name" | "extensionPoint"> {
  nominate(world: PluginWorld): Nominations;
}

export interface Profile {
  readonly name: string;
  evictor(world: EvictorWorld): Evictor;
  /** In the order of the file. */
  readonly plugins: readonly EnabledPlugin[];
}

export interface DeschedulerPolicy {
  /** Nodes to look at; absent: all. */
  readonly nodeSelector?: LabelSelector;
  readonly limits: DeschedulingLimits;
  /** How long an Evacuation may wait for its migration, and how long a pod that another party evicts counts. */
  readonly requestTtlSeconds: number;
  /** The answers that mean: the eviction continues in background. */
  readonly messagePrefixes: readonly string[];
  /** The grace period of evicted pods. Absent: each pod's own. */
  readonly gracePeriodSeconds?: number;
  /** Whether a failed eviction gets an Event. */
  readonly notifyFailures: boolean;
  readonly profiles: readonly Profile[];
}
