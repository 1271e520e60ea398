/** The type of one part of the demo: two clusters, a disruption, and the expected effect. */
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
  /** The part of Lifeboat that only one of the two clusters has. */
  readonly about: string;
  /** The spec of the LifeboatConfiguration in each cluster that has Lifeboat. */
  readonly lifeboat: Partial<Pair<Configuration>>;
  /** Paths of additional manifests in infra/kubernetes. */
  readonly optional: readonly string[];
  readonly sandbox?: Pick<SandboxOptions, "eviction" | "featureGates">;
  /** The outcome of migrations. The default is success. */
  readonly outcome?: NonNullable<Parameters<Sandbox["migrations"]["configure"]>[0]["outcome"]>;
  /** Creates the same nodes, virtual machines and pods in each cluster. */
  setScene(client: KubeClient): Promise<Scene>;
  readonly nodes: readonly string[];
  /** Keys of the ordinary pods to show. The pods need not exist yet. */
  readonly pods: readonly string[];
  readonly headline: readonly string[];
  prologue?(cluster: Cluster): Promise<readonly string[]>;
  /** Disrupts a cluster until `over` is aborted. Resolves to false if the disruption had no effect. */
  disrupt(cluster: Cluster, over: AbortSignal, say: (line: string) => void): Promise<boolean | void>;
  hasHappened(before: World, now: World): boolean;
  /**
   * The minimum number of VMs that must be lost in the cluster without the shown part of Lifeboat. The other cluster
   * must lose no VM.
   */
  readonly lostWithout: number;
  /** Set if KubeVirt repeats a failed migration forever. */
  readonly isEndless?: true;
  readonly epilogue?: readonly string[];
  /** A command that the user can try after the demo. */
  readonly encore: string;
}
