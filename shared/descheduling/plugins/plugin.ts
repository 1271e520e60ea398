/**
 * The interface of descheduling plugins. A plugin is a generator. It nominates one pod, receives the verdict, and
 * continues. Plugins send no requests.
 */
import type * as z from "zod/mini";
import type { NextPod } from "../../preflight/next-pod.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";

export interface Nomination {
  readonly pod: ScheduledPod;
  /** The reason in words. The Eviction's `reason` annotation contains this text. */
  readonly reason?: string;
}

/**
 * `Accepted`: the pod's eviction is in progress. `NodeLimit`: no other pod of this node can be evicted. `TotalLimit`:
 * no other pod can be evicted. `Skipped`: this pod cannot be evicted, but the next pod might be.
 */
export type Verdict = "Accepted" | "NodeLimit" | "TotalLimit" | "Skipped";

export type Nominations = Generator<Nomination, void, Verdict>;

/** Decides which pods may be evicted, according to the profile's DefaultEvictor. Protects the targets of migrations. */
export interface Evictor {
  filter(pod: ScheduledPod): boolean;
  /** An expensive filter. Plugins call it last. */
  preEvictionFilter(pod: ScheduledPod): boolean;
}

export interface PluginWorld {
  /** The Ready nodes that the policy selects. Includes cordoned nodes. */
  readonly nodes: readonly ScheduledNode[];
  /** Returns all pods of a node. Includes finished pods. */
  podsOn(node: string): readonly ScheduledPod[];
  /** Returns the pod that would replace this pod. For a VM, returns the target pod of a migration. */
  nextPod(pod: ScheduledPod): NextPod<ScheduledPod>;
  readonly evictor: Evictor;
  /** Whether the pod's eviction is in progress. Plugins nominate such pods first: the limits already count them. */
  isInProgress(pod: ScheduledPod): boolean;
  readonly now: Date;
}

export interface EvictorWorld extends Omit<PluginWorld, "evictor" | "nodes"> {
  /** All Ready nodes, because a pod can move to a node that the policy does not select. */
  readonly nodes: readonly ScheduledNode[];
  /** Returns the number of pods of this owner in the namespace. Includes finished pods. */
  replicasOf(namespace: string, ownerUID: string): number;
}

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

export type ArgumentsOf<Schema extends z.ZodMiniType> = DeepReadonly<z.output<Schema>>;

/**
 * A plugin with the same arguments, defaults and rules as upstream. Upstream:
 * pkg/framework/plugins/NAME/{types,defaults,validation}.go.
 */
export interface Plugin<Arguments> {
  readonly name: string;
  /** All `deschedule` plugins of all profiles run before the first `balance` plugin. */
  readonly extensionPoint: "deschedule" | "balance";
  readonly arguments: z.ZodMiniType<Arguments>;
  nominate(args: Arguments, world: PluginWorld): Nominations;
}
