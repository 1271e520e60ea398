/**
 * Eviction strategies: which one is in force for a VMI, and what it means in general.
 * Owns: the four values and their resolution. Does not own: what an eviction gets under each (eviction-table.ts).
 * Upstream: KubeVirt `VMIEvictionStrategy` (pkg/util/migrations): the VMI's own value wins over the KubeVirt CR's.
 */
import type { VmiFacts } from "./facts.ts";
import type { Settings } from "./settings.ts";

export const EVICTION_STRATEGIES = ["None", "LiveMigrate", "LiveMigrateIfPossible", "External"] as const;

export type EvictionStrategy = (typeof EVICTION_STRATEGIES)[number];

/** A strategy in force, or a value that KubeVirt does not know and the field that holds it. */
export type ResolvedStrategy =
  | { readonly known: true; readonly strategy: EvictionStrategy }
  | { readonly known: false; readonly field: string; readonly value: string };

type OfVmi = Pick<VmiFacts, "evictionStrategy">;
type OfCluster = Pick<Settings, "clusterStrategy">;

/** The VMI's own strategy, else the cluster's, else None. An empty string counts as absent, as in Go. */
export function resolveStrategy({ evictionStrategy: own }: OfVmi, { clusterStrategy }: OfCluster): ResolvedStrategy {
  const value = own || clusterStrategy || "None";
  const strategy = EVICTION_STRATEGIES.find((known) => known === value);
  if (strategy !== undefined) return { known: true, strategy };
  const field = own ? "spec.evictionStrategy" : "spec.configuration.evictionStrategy of the KubeVirt CR";
  return { known: false, field, value };
}

/** The strategy in force, or None for an unknown value: only doors have a caller to tell about it. */
export function strategyOf(vmi: OfVmi, settings: OfCluster): EvictionStrategy {
  const resolved = resolveStrategy(vmi, settings);
  return resolved.known ? resolved.strategy : "None";
}

/** `migratable` if a live migration can be started at all, else `pinned`. Columns of the tables. */
export type Mobility = "migratable" | "pinned";

export function mobilityOf({ liveMigratable }: VmiFacts): Mobility {
  return liveMigratable.migratable ? "migratable" : "pinned";
}

/**
 * Whether Lifeboat itself migrates such a VMI away; `External` is only marked, for its owner to act on.
 * Upstream: `VMIMigratableOnEviction`.
 */
export const MIGRATES = {
  None: false,
  LiveMigrate: true,
  LiveMigrateIfPossible: true,
  External: false,
} as const satisfies Record<EvictionStrategy, boolean>;
