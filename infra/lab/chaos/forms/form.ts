/** The two ways to run Lifeboat: as Workers outside of the cluster, or as replicas in the cluster. */
import type { Relay } from "../../../relay/relay.ts";
import type { Sandbox } from "../../../sandbox/index.ts";
import type { Link, Links } from "../links.ts";

export const FORMS = ["Worker", "InCluster"] as const;
export type FormName = (typeof FORMS)[number];

export interface Replica {
  readonly name: string;
  readonly url: string;
  readonly link: Link;
  /**
   * The connection of the replica's watches to the API server. Absent for a Worker, because a Worker has no watches.
   */
  readonly watches?: Link;
  /** Requests a full scan. Throws if there is no answer. */
  reconcile(): Promise<void>;
  /**
   * Fires the Worker's cron trigger, which continues evacuations in progress. Does nothing for a replica in the
   * cluster.
   */
  tick(): Promise<void>;
}

/** The address at which the API server reaches Lifeboat. */
export interface Proxy {
  /** Returns the replica that answers the next connection or review. Returns undefined if no replica should answer. */
  answering: () => Replica | undefined;
  /** Breaks the connections of requests that this replica has not answered. */
  drop(name: string): void;
}

export interface Form {
  readonly proxy: Proxy;
  start(onDeath: () => void): Promise<Replica>;
  /** Breaks the replica's connections at once, and removes the replica soon afterwards. */
  end(replica: Replica): Promise<void>;
  /**
   * Starts the relay, which sends events to the Worker. Does nothing in the cluster, where each replica contains the
   * relay.
   */
  startRelay(): Pick<Relay, "stop">;
  /** Describes why the API server cannot reach Lifeboat now. `names` contains the names of the existing replicas. */
  problems(names: readonly string[]): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export interface FormOptions {
  readonly sandbox: Sandbox;
  readonly links: Links;
  /** Paths of additional manifests in infra/kubernetes. */
  readonly optional: readonly string[];
}
