/**
 * Eviction strategies: which one is in force for a VMI, and what it means in general.
 * Owns: the four values and their resolution. Does not own: what each door does with them (its own table).
 * Upstream: KubeVirt `VMIEvictionStrategy` (pkg/util/migrations): the VMI's own value wins over the KubeVirt CR's.
 */
import type { VmiFacts } from "./facts.ts";

export const EVICTION_STRATEGIES = ["None", "LiveMigrate", "LiveMigrateIfPossible", "External"] as const;

export type EvictionStrategy = (typeof EVICTION_STRATEGIES)[number];

/** A strategy in force, or a value that KubeVirt does not know and the field that holds it. */
export type ResolvedStrategy =
  | { readonly known: true; readonly strategy: EvictionStrategy }
  | { readonly known: false; readonly field: string; readonly value: string };

function isStrategy(value: string): value is EvictionStrategy {
  return (EVICTION_STRATEGIES as readonly string[]).includes(value);
}

/** The VMI's own strategy, else the cluster's, else None. An empty string counts as absent, as in Go. */
export function resolveStrategy(ofVmi: string | undefined, ofCluster: string | undefined): ResolvedStrategy {
  const value = ofVmi || ofCluster || "None";
  if (isStrategy(value)) return { known: true, strategy: value };
  const field = ofVmi ? "spec.evictionStrategy" : "spec.configuration.evictionStrategy of the KubeVirt CR";
  return { known: false, field, value };
}

/** `migratable` if a live migration can be started at all, else `pinned`. Columns of the tables. */
export type Mobility = "migratable" | "pinned";

export function mobilityOf(vmi: VmiFacts): Mobility {
  return vmi.liveMigratable.migratable ? "migratable" : "pinned";
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
