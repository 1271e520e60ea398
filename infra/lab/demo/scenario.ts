/** The type of a scenario's act: two clusters, what happens in both, and when it is over. */
import type { KubeClient, Sandbox, SandboxOptions } from "../../sandbox/index.ts";
import type { World } from "../stage/world.ts";
import type { Cluster, Configuration, Pair } from "./clusters.ts";

export interface Scene {
  readonly vms: number;
  readonly nodes: number;
  /** The number of pods that belong to no VM. */
  readonly pods: number;
}

export interface Act {
  /** The part of Lifeboat that one of the two clusters lacks. */
  readonly about: string;
  /** The configuration of each cluster that has Lifeboat. */
  readonly lifeboat: Partial<Pair<Configuration>>;
  /** Further files of infra/kubernetes. */
  readonly optional: readonly string[];
  readonly sandbox?: Pick<SandboxOptions, "eviction" | "featureGates">;
  /** How migrations end. They succeed by default. */
  readonly outcome?: NonNullable<Parameters<Sandbox["migrations"]["configure"]>[0]["outcome"]>;
  /** Creates nodes, virtual machines and pods: the same in each cluster. */
  setScene(client: KubeClient): Promise<Scene>;
  /** The nodes that are shown. */
  readonly nodes: readonly string[];
  /** Keys of the ordinary pods to show, even before the pods exist. */
  readonly pods: readonly string[];
  /** Lines that are printed before the act. */
  readonly headline: readonly string[];
  prologue?(cluster: Cluster): Promise<readonly string[]>;
  /** Disrupts a cluster, until `over` is aborted. Resolves to false if the disruption had no effect. */
  disrupt(cluster: Cluster, over: AbortSignal, say: (line: string) => void): Promise<boolean | void>;
  /** Returns whether the disruption took effect in a cluster. */
  hasHappened(before: World, now: World): boolean;
  /** How many VMs must be lost without Lifeboat, at least. With Lifeboat none may be lost. */
  readonly lostWithout: number;
  /** Whether KubeVirt repeats a migration without end, so that a VM never stops migrating. */
  readonly isEndless?: true;
  readonly epilogue?: readonly string[];
  /** A command to try afterwards. */
  readonly encore: string;
}
