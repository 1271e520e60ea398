/** Describes the Worker's platform: environment variables, bindings, clock, network and log. */
import type { Stores } from "../shared/kube/cache.ts";
import type { Fetch } from "../shared/kube/transport.ts";
import type { CertificateFacts } from "../shared/settings/certificate.ts";

/** Lifeboat's version. A test checks that package.json has the same version. */
export const VERSION = "0.4.0";

/**
 * A Workers KV namespace. Each key is a cluster's name, and each value is an encrypted entry in the format of
 * `CLUSTERS`.
 */
export interface ClusterRegistry {
  get(name: string): Promise<string | null>;
  list(options: {
    cursor?: string;
  }): Promise<{ keys: readonly { name: string }[]; list_complete: boolean; cursor?: string }>;
}

export interface TickQueue {
  sendBatch(messages: readonly { readonly body: unknown }[]): Promise<unknown>;
}

export interface Env {
  readonly CLUSTERS?: string;
  readonly CLUSTER_REGISTRY?: ClusterRegistry;
  readonly REGISTRY_KEY?: string;
  readonly TICKS?: TickQueue;
  /** Workers VPC bindings. A cluster's `server` field refers to a binding as `binding:NAME`. */
  readonly [binding: string]: unknown;
}

export interface Platform {
  readonly fetch: Fetch;
  readonly now: () => Date;
  readonly sleep: (ms: number) => Promise<void>;
  readonly timeout: (ms: number) => AbortSignal;
  readonly random: () => number;
  /** Returns the watched objects, if this process watches its cluster. */
  readonly stores?: () => Stores | undefined;
  /** Compares a caBundle with the certificate that this process serves. Absent on Cloudflare. */
  readonly trust?: (caBundle: string) => CertificateFacts;
  /** Writes one structured log line. The line must contain no tokens and no bodies of requests or responses. */
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
}
