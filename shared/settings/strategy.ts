/**
 * Eviction strategies: which strategy applies to a VM, and which VMs can leave their node. Upstream:
 * docs/handling-eviction-requests.md.
 */
import type { VmiFacts } from "../kube/facts.ts";
import type { Settings } from "./settings.ts";
import { isBeingReceived, isFinal } from "../kube/objects.ts";

export const EVICTION_STRATEGIES = ["None", "LiveMigrate", "LiveMigrateIfPossible", "External"] as const;

export type EvictionStrategy = (typeof EVICTION_STRATEGIES)[number];

/**
 * The strategy that applies to a VM. If KubeVirt does not know the value, the result contains the value and its field.
 */
export type ResolvedStrategy =
  | { readonly known: true; readonly strategy: EvictionStrategy }
  | { readonly known: false; readonly field: string; readonly value: string };

type OfVmi = Pick<VmiFacts, "evictionStrategy">;
type OfCluster = Pick<Settings, "clusterStrategy">;

/**
 * Returns the VMI's own strategy. If it has none, returns the cluster's strategy, or None. An empty string counts
 * as absent, as in Go.
 */
export function resolveStrategy({ evictionStrategy: own }: OfVmi, { clusterStrategy }: OfCluster): ResolvedStrategy {
  const value = own || clusterStrategy || "None";
  const strategy = EVICTION_STRATEGIES.find((known) => known === value);
  if (strategy !== undefined) return { known: true, strategy };
  const field = own ? "spec.evictionStrategy" : "spec.configuration.evictionStrategy of the KubeVirt CR";
  return { known: false, field, value };
}

/** Returns the strategy that applies. Returns None for an unknown value. */
export function strategyOf(vmi: OfVmi, settings: OfCluster): EvictionStrategy {
  const resolved = resolveStrategy(vmi, settings);
  return resolved.known ? resolved.strategy : "None";
}

/**
 * True if Lifeboat migrates VMIs with this strategy. For `External`, Lifeboat only sets evacuationNodeName, and an
 * external controller migrates the VMI. Upstream: `VMIMigratableOnEviction`.
 */
export const MIGRATES = {
  None: false,
  LiveMigrate: true,
  LiveMigrateIfPossible: true,
  External: false,
} as const satisfies Record<EvictionStrategy, boolean>;

export function isLive(vmi: VmiFacts): boolean {
  return !vmi.deleting && !isFinal(vmi) && vmi.nodeName !== undefined && !isBeingReceived(vmi);
}

/** Returns true if KubeVirt or Lifeboat migrates the VM when it has to leave its node. */
export function canMigrate(vmi: VmiFacts, settings: Settings): boolean {
  return isLive(vmi) && MIGRATES[strategyOf(vmi, settings)] && vmi.liveMigratable.migratable;
}
