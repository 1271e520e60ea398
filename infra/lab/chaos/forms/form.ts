/** The forms in which Lifeboat is installed: a Worker outside of the cluster, and replicas inside of it. */
import type { Relay } from "../../../relay/relay.ts";
import type { Sandbox } from "../../../sandbox/index.ts";
import type { Link, Links } from "../links.ts";

export const FORMS = ["Worker", "InCluster"] as const;
export type FormName = (typeof FORMS)[number];

/** A Worker or a replica, which comes and goes. */
export interface Replica {
  readonly name: string;
  /** The URL of its endpoints for the cluster. */
  readonly url: string;
  readonly link: Link;
  /** The link of a replica that watches. */
  readonly watches?: Link;
  /** Asks for a full scan; throws if there is no answer. */
  reconcile(): Promise<void>;
  /** Its cron trigger fires for what is under way; in the cluster its own timer does. */
  tick(): Promise<void>;
}

/** Lifeboat's address, as the API server knows it: behind it, one replica after another. */
export interface Proxy {
  /** Asked for every connection or review; undefined: nothing answers there. */
  answering: () => Replica | undefined;
  /** Breaks what this replica has not answered yet. */
  drop(name: string): void;
}

export interface Form {
  readonly proxy: Proxy;
  start(onDeath: () => void): Promise<Replica>;
  /** Cut off at once, forgotten soon after. */
  end(replica: Replica): Promise<void>;
  /** As deployed beside Lifeboat: it reports to what answers at the address. In the cluster it is built in. */
  startRelay(): Pick<Relay, "stop">;
  /** Why the API server cannot ask it now, in words; `names`: of the replicas that are there. */
  problems(names: readonly string[]): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export interface FormOptions {
  readonly sandbox: Sandbox;
  readonly links: Links;
  /** Further files of infra/kubernetes. */
  readonly optional: readonly string[];
}
