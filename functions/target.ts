/** Contains the configuration of a cluster, and the clients that read and write the cluster. */
import type { Reads } from "../shared/facts/decide.ts";
import { watchedReads } from "../shared/facts/reads.ts";
import { notedIn, readsFrom } from "../shared/kube/cache.ts";
import { type Client, createClient } from "../shared/kube/client.ts";
import { ClusterError } from "../shared/kube/failures.ts";
import { MemoryBudget, type Endpoint, type Held } from "../shared/kube/transport.ts";
import { type ClusterEntry, type Clusters, parseClusters } from "../shared/settings/clusters.ts";
import { type LoadedSettings, SettingsCache } from "../shared/settings/load-settings.ts";
import type { Env, Platform } from "./env.ts";
import { RejectionError, rejectProblems } from "./errors.ts";
import { RegistryCache } from "./registry.ts";
import { ReviewCounts } from "./review.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

/** The memory of this process. Cloudflare can end the process, and thus empty these caches, at any time. */
export interface IsolateState {
  /** Caches the parsed form of `CLUSTERS`, keyed by its text. */
  readonly clusters: Map<string | undefined, Clusters>;
  readonly settings: SettingsCache;
  readonly registry: Pick<RegistryCache, "find" | "names">;
  readonly called: Set<string>;
  readonly budget: MemoryBudget;
  readonly reviews: ReviewCounts;
}

export function newIsolateState(): IsolateState {
  return {
    clusters: new Map(),
    settings: new SettingsCache(),
    registry: new RegistryCache(),
    called: new Set(),
    budget: new MemoryBudget(),
    reviews: new ReviewCounts(),
  };
}

export interface Target {
  readonly name: string;
  readonly entry: ClusterEntry;
  readonly platform: Platform;
  readonly state: IsolateState;
  /**
   * Creates a client whose requests fail after `seconds`, or when the scheduled run has used its time for this cluster.
   * `held` reserves memory for the client's reads.
   */
  connect(seconds: number, held?: Held): Client;
  /** Returns a client whose reads can be slightly outdated. Undefined if the process watches nothing. */
  readonly cached: ((cluster: Client) => Client) | undefined;
  /**
   * Answers reads from watched objects if possible, otherwise from the API server. Undefined if the process watches
   * nothing.
   */
  readonly watched: ((cluster: Client) => Reads) | undefined;
  /** Returns `seconds`, or the remaining time of the scheduled run for this cluster if that time is shorter. */
  within(seconds: number): number;
  settings(cluster: Client, fresh?: boolean): Promise<LoadedSettings>;
  log(line: Readonly<Record<string, unknown>>): void;
  /** Logs a failure or a defect instead of throwing. */
  logFailure(doing: string, error: unknown): void;
}

export interface Surroundings {
  readonly env: Env;
  readonly platform: Platform;
  readonly state: IsolateState;
  /**
   * Returns whether a scheduled run may reconcile a draining node repeatedly until the minute of the run is over. If
   * absent, the run reconciles the node once.
   */
  readonly stays?: () => boolean;
  /** Continues a descheduling cycle after the scheduled run. If absent, the run waits for the cycle. */
  readonly leave?: (cycle: Promise<void>) => void;
}

/** The address for requests through a VPC binding. The certificate of every API server contains this host name. */
const BINDING_SERVER = "https://kubernetes.default.svc";

/**
 * Returns the target for a cluster. `shareEnds` is the time when a scheduled run must stop its work on this cluster.
 * Without `shareEnds`, only the time limits that the callers set apply.
 */
export function targetOf(
  name: string,
  entry: ClusterEntry,
  { env, platform, state }: Surroundings,
  shareEnds?: Date,
): Target {
  const within = (seconds: number) => {
    return shareEnds === undefined
      ? seconds
      : Math.min(seconds, (shareEnds.getTime() - platform.now().getTime()) / 1000);
  };
  const endpoint = endpointOf(entry, env, platform);
  const log = (line: Readonly<Record<string, unknown>>) => platform.log({ cluster: name, ...line });
  const stores = platform.stores?.();
  const connect = (seconds: number, held?: Held) => {
    const client = createClient({
      endpoint,
      signal: platform.timeout(Math.max(1, Math.floor(within(seconds) * 1000))),
      timeout: platform.timeout,
      onOddItem: (resource, issue) => log({ level: "warn", message: MESSAGES.leftOut(resource), issue }),
      hold: held === undefined ? () => state.budget.count(platform.now()) : () => ({ ...held, end: () => undefined }),
    });
    return stores === undefined ? client : notedIn(stores, client);
  };
  return {
    name,
    entry,
    platform,
    state,
    within,
    connect,
    cached: stores && ((cluster) => readsFrom(stores, cluster)),
    watched: stores && ((cluster) => watchedReads(stores, cluster)),
    settings: (cluster, fresh) => state.settings.load(name, cluster, platform.now(), fresh),
    log,
    logFailure: (doing, error) => log({ level: "error", doing, ...described(error) }),
  };
}

function described(error: unknown): Record<string, unknown> {
  if (error instanceof ClusterError) return { failure: error.failure };
  return { message: "unexpected error", error: error instanceof Error ? error.stack : undefined };
}

function clustersOf({ env: { CLUSTERS }, state }: Surroundings): Clusters {
  const known = state.clusters.get(CLUSTERS) ?? parseClusters(CLUSTERS);
  // Keeps only the newest value of `CLUSTERS` in the cache.
  if (!state.clusters.has(CLUSTERS)) state.clusters.clear();
  state.clusters.set(CLUSTERS, known);
  return known;
}

/**
 * Finds a cluster's entry in `CLUSTERS`, or otherwise in the registry. Searches the registry even if `CLUSTERS` is
 * invalid.
 */
export async function findEntry(name: string, surroundings: Surroundings): Promise<ClusterEntry> {
  const { env, platform, state } = surroundings;
  const clusters = clustersOf(surroundings);
  const inSecret = clusters.ok ? clusters.value.get(name) : undefined;
  const registered = inSecret ?? (await state.registry.find(name, env, platform.now()));
  const entry = registered ?? (clusters.ok ? undefined : clusters);
  if (entry === undefined) throw new RejectionError("UnknownCluster");
  return entry.ok ? entry.value : rejectProblems("InvalidConfiguration", entry.problems);
}

export async function clusterNames(surroundings: Surroundings): Promise<readonly string[]> {
  const { env, platform, state } = surroundings;
  const clusters = clustersOf(surroundings);
  if (!clusters.ok) {
    for (const problem of clusters.problems)
      platform.log({ level: "error", reason: "InvalidConfiguration", ...problem });
  }
  const ofSecret = clusters.ok ? [...clusters.value.keys()] : [];
  if (env.CLUSTER_REGISTRY === undefined) return ofSecret;
  try {
    return [...new Set([...ofSecret, ...(await state.registry.names(env.CLUSTER_REGISTRY, platform.now()))])];
  } catch (error) {
    const stack = error instanceof Error ? error.stack : undefined;
    platform.log({ level: "error", doing: "reading CLUSTER_REGISTRY", error: stack });
    return ofSecret;
  }
}

function endpointOf(entry: ClusterEntry, env: Env, platform: Platform): Endpoint {
  const { token, headers } = entry;
  const [, binding] = /^binding:(.+)$/.exec(entry.server) ?? [];
  if (binding === undefined) {
    return { server: entry.server.replace(/\/+$/, ""), token, headers, fetch: platform.fetch };
  }
  const service = env[binding];
  if (!isFetcher(service)) {
    const message = MESSAGES.noBinding(binding);
    throw new RejectionError("InvalidConfiguration", { field: "server", message });
  }
  return { server: BINDING_SERVER, token, headers, fetch: (url, init) => service.fetch(url, init) };
}

function isFetcher(value: unknown): value is { fetch: Endpoint["fetch"] } {
  return typeof value === "object" && value !== null && "fetch" in value;
}
