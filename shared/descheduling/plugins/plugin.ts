/**
 * The one shape of all descheduling plugins.
 *
 * A plugin is a generator: it nominates one pod, receives the verdict, and continues. So it takes accepted pods into account, as upstream's
 * plugins do, and stays pure: the cycle decides and acts.
 */
import type * as z from "zod/mini";
import type { NextPod } from "../../preflight/next-pod.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";

export interface Nomination {
  readonly pod: ScheduledPod;
  /** For people; becomes part of the Eviction's `reason` annotation. */
  readonly reason?: string;
}

/**
 * `Accepted`: its evacuation or eviction is in progress. `NodeLimit`: nothing more from this node. `TotalLimit`: nothing more at all.
 * `Skipped`: not this pod (a namespace's limit, a refusal); the next one may do.
 */
export type Verdict = "Accepted" | "NodeLimit" | "TotalLimit" | "Skipped";

export type Nominations = Generator<Nomination, void, Verdict>;

/** Which pods may be evicted: DefaultEvictor of the plugin's profile, and never the target of a migration. */
export interface Evictor {
  filter(pod: ScheduledPod): boolean;
  /** Asked last: it costs more. */
  preEvictionFilter(pod: ScheduledPod): boolean;
}

export interface PluginWorld {
  /** Ready nodes that the policy selects, cordoned ones included. */
  readonly nodes: readonly ScheduledNode[];
  /** All pods bound to a node, finished ones included. */
  podsOn(node: string): readonly ScheduledPod[];
  /** Returns the pod's replacement: the target of the migration for a VM, an equal pod otherwise. */
  nextPod(pod: ScheduledPod): NextPod<ScheduledPod>;
  readonly evictor: Evictor;
  /** Whether the pod's evacuation is in progress. It is nominated first, so that it counts, and not requested again. */
  isInProgress(pod: ScheduledPod): boolean;
  readonly now: Date;
}

/** Facts for DefaultEvictor. */
export interface EvictorWorld extends Omit<PluginWorld, "evictor" | "nodes"> {
  /** All that are Ready, also those that the policy does not select: a pod may well go there. */
  readonly nodes: readonly ScheduledNode[];
  /** How many pods of the namespace, finished ones included, have an owner with this UID. */
  replicasOf(namespace: string, ownerUID: string): number;
}

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** The value that a schema of arguments gives. */
export type ArgumentsOf<Schema extends z.ZodMiniType> = DeepReadonly<z.output<Schema>>;

/** Keys, defaults and rules of the arguments are upstream's: pkg/framework/plugins/NAME/{types,defaults,validation}.go. */
export interface Plugin<Arguments> {
  readonly name: string;
  /** All `deschedule` plugins of all profiles run before the first `balance` plugin. */
  readonly extensionPoint: "deschedule" | "balance";
  readonly arguments: z.ZodMiniType<Arguments>;
  nominate(args: Arguments, world: PluginWorld): Nominations;
}
