/**
 * A descheduler policy as it is carried out: profiles whose plugins know their arguments, and the limits over all of them.
 * Owns: that shape. Does not own: the policy file's text, keys and defaults (shared/config/descheduler-policy).
 */
import type { BudgetFacts, LabelSelector } from "../../policy/facts.ts";
import type { DeschedulerNode } from "./facts.ts";
import type { Evictor, Nominations, Plugin, PluginWorld } from "./plugin.ts";

/** Absent: no limit; 0: none. */
export interface DeschedulingLimits {
  /** Pods evicted in a cycle and pods whose evacuation is in progress, together. */
  readonly evictionsTotal?: number;
  readonly evictionsPerNode?: number;
  readonly evictionsPerNamespace?: number;
  /** Evacuations in progress. */
  readonly evacuationsPerNode?: number;
  readonly evacuationsPerNamespace?: number;
}

/** What besides nodes and pods has to be read before the policy can be carried out. */
export interface PolicyNeeds {
  /** Labels of namespaces. */
  readonly namespaces: boolean;
  readonly budgets: boolean;
  /** Storage classes of claims. */
  readonly claims: boolean;
  /** Names of PriorityClasses. */
  readonly priorityClasses: readonly string[];
}

export interface EvictorWorld extends Omit<PluginWorld, "evictor" | "nodes"> {
  /** All that are Ready, also those that the policy does not select: a pod may well go there. */
  readonly nodes: readonly DeschedulerNode[];
  /** How many pods of the namespace, finished ones included, have an owner with this UID. */
  replicasOf(namespace: string, ownerUID: string): number;
  /** Value by name, of those that `needs` names. */
  readonly priorityClasses: ReadonlyMap<string, number>;
  /** By namespace. Empty unless `needs.budgets`. */
  readonly budgets: ReadonlyMap<string, readonly BudgetFacts[]>;
  /** Storage class of a claim, by `namespace/name`. Empty unless `needs.claims`. */
  readonly storageClasses: ReadonlyMap<string, string>;
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
  /** How long a request counts that nothing confirms. */
  readonly requestTtlSeconds: number;
  /** What a 429 begins with that means: goes on in background. */
  readonly messagePrefixes: readonly string[];
  /** Of the pods that are evicted; absent: each pod's own. */
  readonly gracePeriodSeconds?: number;
  /** Whether an eviction that failed is told by an Event. */
  readonly notifyFailures: boolean;
  readonly profiles: readonly Profile[];
  readonly needs: PolicyNeeds;
}
