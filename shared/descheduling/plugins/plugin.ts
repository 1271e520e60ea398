/**
 * The interface of all descheduling plugins. A plugin is a generator: it nominates one pod, receives the verdict, and
 * continues. Plugins send no requests; the cycle sends them.
 */
import type * as z from "zod/mini";
import type { NextPod } from "../../preflight/next-pod.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";

export interface Nomination {
  readonly pod: ScheduledPod;
  /** The reason in words, which becomes part of the Eviction's `reason` annotation. */
  readonly reason?: string;
}

/**
 * `Accepted`: the pod's evacuation or eviction is in progress. `NodeLimit`: no further pod of this node. `TotalLimit`:
 * no further pod at all. `Skipped`: not this pod (a namespace's limit, a refusal), but perhaps the next.
 */
export type Verdict = "Accepted" | "NodeLimit" | "TotalLimit" | "Skipped";

export type Nominations = Generator<Nomination, void, Verdict>;

/**
 * Decides which pods may be evicted, by the DefaultEvictor of the plugin's profile. Always protects the target pod of a
 * migration.
 */
export interface Evictor {
  filter(pod: ScheduledPod): boolean;
  /** Plugins call this filter last, because it is expensive. */
  preEvictionFilter(pod: ScheduledPod): boolean;
}

export interface PluginWorld {
  /** Ready nodes that the policy selects, cordoned ones included. */
  readonly nodes: readonly ScheduledNode[];
  /** All pods bound to a node, including finished ones. */
  podsOn(node: string): readonly ScheduledPod[];
  /** Returns the pod that would replace this pod: for a VM, the migration's target pod; otherwise, an equal pod. */
  nextPod(pod: ScheduledPod): NextPod<ScheduledPod>;
  readonly evictor: Evictor;
  /**
   * Whether the pod's evacuation is in progress. Plugins nominate such a pod first: it counts against the limits, and
   * is not requested again.
   */
  isInProgress(pod: ScheduledPod): boolean;
  readonly now: Date;
}

export interface EvictorWorld extends Omit<PluginWorld, "evictor" | "nodes"> {
  /** All Ready nodes, including nodes that the policy does not select, because a pod may move to any Ready node. */
  readonly nodes: readonly ScheduledNode[];
  /** How many pods of the namespace, including finished ones, have an owner with this UID. */
  replicasOf(namespace: string, ownerUID: string): number;
}

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

export type ArgumentsOf<Schema extends z.ZodMiniType> = DeepReadonly<z.output<Schema>>;

/**
 * The arguments have upstream's keys, defaults and rules: pkg/framework/plugins/NAME/{types,defaults,validation}.go.
 */
export interface Plugin<Arguments> {
  readonly name: string;
  /** All `deschedule` plugins of all profiles run before the first `balance` plugin. */
  readonly extensionPoint: "deschedule" | "balance";
  readonly arguments: z.ZodMiniType<Arguments>;
  nominate(args: Arguments, world: PluginWorld): Nominations;
}
