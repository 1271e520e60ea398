/** What the platform gives the Worker: its environment, and what is not pure. */
import type { ConfigProblem } from "../shared/settings/problem.ts";
import type { Stores } from "../shared/kube/cache.ts";
import type { Fetch } from "../shared/kube/transport.ts";
import type { CertificateFacts } from "../shared/settings/certificate.ts";

/** Of Lifeboat: package.json's, a test keeps them together. */
export const VERSION = "0.3.0";

/** A Workers KV namespace: key = cluster name, value = one entry as in `CLUSTERS`, encrypted. */
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
  /** Of Cloudflare Access, where it is before the page: see page/cloudflare-access.ts. */
  readonly ACCESS_TEAM_DOMAIN?: string;
  readonly ACCESS_AUD?: string;
  /** Workers VPC bindings, by the name in `binding:NAME`. */
  readonly [binding: string]: unknown;
}

/** What is wrong with the variables that say which Cloudflare Access to believe. */
export function accessProblems({ ACCESS_TEAM_DOMAIN, ACCESS_AUD }: Env): readonly ConfigProblem[] {
  if (ACCESS_TEAM_DOMAIN === undefined && ACCESS_AUD === undefined) return [];
  return [
    ...(/^[a-z0-9-]+\.cloudflareaccess\.com$/.test(ACCESS_TEAM_DOMAIN ?? "")
      ? []
      : [{ field: "ACCESS_TEAM_DOMAIN", message: "expected TEAM.cloudflareaccess.com, beside ACCESS_AUD" }]),
    ...(/^[0-9a-f]{64}$/.test(ACCESS_AUD ?? "")
      ? []
      : [
          {
            field: "ACCESS_AUD",
            message: "expected the application's AUD tag, 64 hex digits, beside ACCESS_TEAM_DOMAIN",
          },
        ]),
  ];
}

/** What is not pure: passed in, so that tests decide on time and network. */
export interface Platform {
  readonly fetch: Fetch;
  readonly now: () => Date;
  readonly sleep: (ms: number) => Promise<void>;
  readonly timeout: (ms: number) => AbortSignal;
  readonly random: () => number;
  /** What watches in this process show of its one cluster. */
  readonly stores?: () => Stores | undefined;
  /** Compares the certificate that this process serves with a caBundle. Absent where the platform has its own certificate. */
  readonly trust?: (caBundle: string) => CertificateFacts;
  /** One structured line. Never a token, never a body of the other side. */
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
}
