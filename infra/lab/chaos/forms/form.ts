/** The forms in which Lifeboat is installed: a Worker outside of the cluster, and replicas in the cluster. */
import type { Relay } from "../../../relay/relay.ts";
import type { Sandbox } from "../../../sandbox/index.ts";
import type { Link, Links } from "../links.ts";

export const FORMS = ["Worker", "InCluster"] as const;
export type FormName = (typeof FORMS)[number];

/** A Worker or a replica, which starts and ends during a run. */
export interface Replica {
  readonly name: string;
  /** The URL of the replica's endpoints for the cluster. */
  readonly url: string;
  readonly link: Link;
  /** The connection of the replica's watches to the API server. Absent for a Worker, which has no watches. */
  readonly watches?: Link;
  /** Requests a full scan. Throws if there is no answer. */
  reconcile(): Promise<void>;
  /**
   * Fires the replica's cron trigger, which continues evacuations in progress. A replica in the cluster has its own
   * timer instead.
   */
  tick(): Promise<void>;
}

/** The address at which the API server reaches Lifeboat. The replicas that answer at this address change. */
export interface Proxy {
  /** Returns the replica for the next connection or review. Returns undefined if no replica should answer. */
  answering: () => Replica | undefined;
  /** Breaks the connections of requests that this replica has not answered yet. */
  drop(name: string): void;
}

export interface Form {
  readonly proxy: Proxy;
  start(onDeath: () => void): Promise<Replica>;
  /** Breaks the replica's connections at once, and removes the replica soon after. */
  end(replica: Replica): Promise<void>;
  /** Starts the relay, which reports to the Worker's address. In the cluster the relay is part of the server. */
  startRelay(): Pick<Relay, "stop">;
  /** Describes why the API server cannot reach Lifeboat now. `names`: the names of the existing replicas. */
  problems(names: readonly string[]): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export interface FormOptions {
  readonly sandbox: Sandbox;
  readonly links: Links;
  /** More manifests to apply: paths in infra/kubernetes. */
  readonly optional: readonly string[];
}
