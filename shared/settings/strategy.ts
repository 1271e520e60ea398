/** Eviction strategies: what evictions get under each, and which VMs leave their node. Upstream: docs/handling-eviction-requests.md. */
import type { VmiFacts } from "../kube/facts.ts";
import type { Settings } from "./settings.ts";
import { isBeingReceived, isFinal } from "../kube/objects.ts";

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

/** The strategy in force, or None for an unknown value: only endpoints have a caller to tell about it. */
export function strategyOf(vmi: OfVmi, settings: OfCluster): EvictionStrategy {
  const resolved = resolveStrategy(vmi, settings);
  return resolved.known ? resolved.strategy : "None";
}

/** Whether Lifeboat migrates such a VMI; `External` is only marked, for its external controller. Upstream: `VMIMigratableOnEviction`. */
export const MIGRATES = {
  None: false,
  LiveMigrate: true,
  LiveMigrateIfPossible: true,
  External: false,
} as const satisfies Record<EvictionStrategy, boolean>;

/** For the node it is on: a mark for a node that it has left means nothing. */
export function isMarked(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === vmi.nodeName;
}

/** KubeVirt's webhook marks what it has read: its mark may come when the VM has left, and no other mark comes while it is there. */
export function isMarkedTooLate(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.nodeName !== undefined && !isMarked(vmi);
}

export function isLive(vmi: VmiFacts): boolean {
  return !vmi.deleting && !isFinal(vmi) && vmi.nodeName !== undefined && !isBeingReceived(vmi);
}

/** Whether KubeVirt, or Lifeboat in its place, migrates the VM when it has to leave its node. */
export function canMigrate(vmi: VmiFacts, settings: Settings): boolean {
  return isLive(vmi) && MIGRATES[strategyOf(vmi, settings)] && vmi.liveMigratable.migratable;
}

/** `migratable` if a live migration can be started at all, else `pinned`. Columns of the tables. */
export type Mobility = "migratable" | "pinned";

export function mobilityOf({ liveMigratable }: VmiFacts): Mobility {
  return liveMigratable.migratable ? "migratable" : "pinned";
}

/** `evacuate`: 429, and KubeVirt marks. `refuse`: 429, no mark. `shutdown`: allow with a warning. */
export type FirstAnswer = "allow" | "evacuate" | "refuse" | "shutdown";

// prettier-ignore
export const FIRST_REQUEST = {
  //                       migratable               pinned
  None:                  { migratable: "allow",    pinned: "allow"    },
  LiveMigrate:           { migratable: "evacuate", pinned: "refuse"   },
  LiveMigrateIfPossible: { migratable: "evacuate", pinned: "shutdown" },
  External:              { migratable: "evacuate", pinned: "evacuate" },
} as const satisfies Record<EvictionStrategy, Record<Mobility, FirstAnswer>>;

/** Whether the VM moves when it has to leave its node: an eviction evacuates it, a deletion is refused, node pressure moves it. */
export function isToMove(vmi: VmiFacts, settings: Pick<Settings, "clusterStrategy">): boolean {
  return FIRST_REQUEST[strategyOf(vmi, settings)][mobilityOf(vmi)] === "evacuate";
}

/** Whether every eviction of it is refused until its owner changes something: no Evacuation says so. */
export function isHeldFast(vmi: VmiFacts, settings: Pick<Settings, "clusterStrategy">): boolean {
  const resolved = resolveStrategy(vmi, settings);
  return !resolved.known || FIRST_REQUEST[resolved.strategy][mobilityOf(vmi)] === "refuse";
}

/** `inProgress`: 429. `unlessMigrating`: so while a migration is unfinished, else the mark is cleared and the request is a first one. */
export type LaterAnswer = "first" | "unlessMigrating" | "inProgress";

// prettier-ignore
export const LATER_REQUEST = {
  //                       migratable                 pinned
  None:                  { migratable: "first",      pinned: "first"           },
  LiveMigrate:           { migratable: "inProgress", pinned: "inProgress"      },
  LiveMigrateIfPossible: { migratable: "inProgress", pinned: "unlessMigrating" },
  External:              { migratable: "inProgress", pinned: "inProgress"      },
} as const satisfies Record<EvictionStrategy, Record<Mobility, LaterAnswer>>;
