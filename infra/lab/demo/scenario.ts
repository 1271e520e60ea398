/** An act of a scenario: two clusters, what happens to both, and when it is over. */
import type { KubeClient, Sandbox, SandboxOptions } from "../../sandbox/index.ts";
import type { World } from "../stage/world.ts";
import type { Cluster, Configuration, Pair } from "./clusters.ts";

export interface Scene {
  readonly vms: number;
  readonly nodes: number;
  /** Besides VMs. */
  readonly pods: number;
}

export interface Act {
  /** Names the part that one of the two clusters does not have. */
  readonly about: string;
  /** The configuration of each cluster that has Lifeboat. */
  readonly lifeboat: Partial<Pair<Configuration>>;
  /** Further files of infra/kubernetes. */
  readonly optional: readonly string[];
  readonly sandbox?: Pick<SandboxOptions, "eviction" | "featureGates">;
  /** How migrations end. They succeed by default. */
  readonly outcome?: NonNullable<Parameters<Sandbox["migrations"]["configure"]>[0]["outcome"]>;
  /** Puts nodes, virtual machines and pods into a cluster: the same into each. */
  setScene(client: KubeClient): Promise<Scene>;
  /** The nodes that it is about. */
  readonly nodes: readonly string[];
  /** Keys of the ordinary pods worth watching, whether they are there yet or not. */
  readonly pods: readonly string[];
  /** Printed before the act. */
  readonly headline: readonly string[];
  prologue?(cluster: Cluster): Promise<readonly string[]>;
  /** Brings it upon a cluster, until `over`. Resolves to false if it was in vain. */
  disrupt(cluster: Cluster, over: AbortSignal, say: (line: string) => void): Promise<boolean | void>;
  /** Whether the disruption has had its way in a cluster. */
  hasHappened(before: World, now: World): boolean;
  /** The VMs that may be lost: with Lifeboat none, without it at least so many. */
  readonly lostWithout: number;
  /** Whether KubeVirt repeats a migration without end, so that a VM never comes to rest. */
  readonly isEndless?: true;
  readonly epilogue?: readonly string[];
  /** A command worth trying afterwards. */
  readonly encore: string;
}
