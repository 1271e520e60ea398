/** The forms in which Lifeboat is installed: a Worker outside of the cluster, and replicas inside of it. */
import type { Relay } from "../../../relay/relay.ts";
import type { Sandbox } from "../../../sandbox/index.ts";
import type { Link, Links } from "../links.ts";

export const FORMS = ["Worker", "InCluster"] as const;
export type FormName = (typeof FORMS)[number];

/** A Worker or a replica, which starts and ends during a run. */
export interface Replica {
  readonly name: string;
  /** The URL of its endpoints for the cluster. */
  readonly url: string;
  readonly link: Link;
  /** The connection of a replica that watches. */
  readonly watches?: Link;
  /** Asks for a full scan. Throws if there is no answer. */
  reconcile(): Promise<void>;
  /** Fires its cron trigger for evacuations in progress. In the cluster, its own timer does this. */
  tick(): Promise<void>;
}

/** Lifeboat's address for the API server. The replicas behind it change. */
export interface Proxy {
  /** Returns the replica for each connection or review. Undefined: nothing answers. */
  answering: () => Replica | undefined;
  /** Breaks the requests that this replica has not answered yet. */
  drop(name: string): void;
}

export interface Form {
  readonly proxy: Proxy;
  start(onDeath: () => void): Promise<Replica>;
  /** Disconnects the replica at once, and removes it soon after. */
  end(replica: Replica): Promise<void>;
  /** The relay as deployed beside Lifeboat: it reports to the address. In the cluster it is part of the server. */
  startRelay(): Pick<Relay, "stop">;
  /** Says why the API server cannot reach it now. `names`: of the replicas that exist. */
  problems(names: readonly string[]): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export interface FormOptions {
  readonly sandbox: Sandbox;
  readonly links: Links;
  /** Further files of infra/kubernetes. */
  readonly optional: readonly string[];
}
