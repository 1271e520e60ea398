/**
 * Contains the answers to first and repeated eviction requests, by eviction strategy and by whether the VM can migrate.
 */
import type { VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import { type EvictionStrategy, resolveStrategy, strategyOf } from "../settings/strategy.ts";

/** Whether a live migration of the VM can start. */
export type Mobility = "migratable" | "pinned";

export function mobilityOf({ liveMigratable }: VmiFacts): Mobility {
  return liveMigratable.migratable ? "migratable" : "pinned";
}

/**
 * The answer to a first request. `evacuate` refuses the eviction with 429, and KubeVirt starts an evacuation. `refuse`
 * refuses the eviction with 429, and the VM stays. `shutdown` allows the eviction with a warning.
 */
export type FirstAnswer = "allow" | "evacuate" | "refuse" | "shutdown";

// prettier-ignore
export const FIRST_REQUEST = {
  //                       migratable               pinned
  None:                  { migratable: "allow",    pinned: "allow"    },
  LiveMigrate:           { migratable: "evacuate", pinned: "refuse"   },
  LiveMigrateIfPossible: { migratable: "evacuate", pinned: "shutdown" },
  External:              { migratable: "evacuate", pinned: "evacuate" },
} as const satisfies Record<EvictionStrategy, Record<Mobility, FirstAnswer>>;

/**
 * Returns whether an eviction or node pressure starts an evacuation of the VM. If not, Lifeboat does not refuse
 * deletions of the VM's pods either.
 */
export function isToMove(vmi: VmiFacts, settings: Pick<Settings, "clusterStrategy">): boolean {
  return FIRST_REQUEST[strategyOf(vmi, settings)][mobilityOf(vmi)] === "evacuate";
}

/** Returns whether every eviction of the VM is refused until somebody changes the VM or its eviction strategy. */
export function isHeldFast(vmi: VmiFacts, settings: Pick<Settings, "clusterStrategy">): boolean {
  const resolved = resolveStrategy(vmi, settings);
  return !resolved.known || FIRST_REQUEST[resolved.strategy][mobilityOf(vmi)] === "refuse";
}

/**
 * The answer to a repeated request. `first` repeats the first answer. `inProgress` refuses with 429. `unlessMigrating`
 * refuses with 429 while a migration is unfinished, and otherwise clears `status.evacuationNodeName` and repeats the
 * first answer.
 */
export type LaterAnswer = "first" | "unlessMigrating" | "inProgress";

// prettier-ignore
export const LATER_REQUEST = {
  //                       migratable                 pinned
  None:                  { migratable: "first",      pinned: "first"           },
  LiveMigrate:           { migratable: "inProgress", pinned: "inProgress"      },
  LiveMigrateIfPossible: { migratable: "inProgress", pinned: "unlessMigrating" },
  External:              { migratable: "inProgress", pinned: "inProgress"      },
} as const satisfies Record<EvictionStrategy, Record<Mobility, LaterAnswer>>;
