/**
 * The answers to evictions, by strategy and by whether the VM can migrate: for the first request and for repeated ones.
 */
import type { VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import { type EvictionStrategy, resolveStrategy, strategyOf } from "../settings/strategy.ts";

/** `migratable` if a live migration can start, otherwise `pinned`. These are the columns of the tables. */
export type Mobility = "migratable" | "pinned";

export function mobilityOf({ liveMigratable }: VmiFacts): Mobility {
  return liveMigratable.migratable ? "migratable" : "pinned";
}

/** `evacuate`: 429, and KubeVirt marks the VM. `refuse`: 429, without a mark. `shutdown`: allowed with a warning. */
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
 * Returns whether the VM moves when it has to leave its node. If so, an eviction or node pressure evacuates the VM, and
 * the deletion of its pod is refused.
 */
export function isToMove(vmi: VmiFacts, settings: Pick<Settings, "clusterStrategy">): boolean {
  return FIRST_REQUEST[strategyOf(vmi, settings)][mobilityOf(vmi)] === "evacuate";
}

/** Returns whether every eviction is refused until the owner changes the VM. Such a VM gets no Evacuation. */
export function isHeldFast(vmi: VmiFacts, settings: Pick<Settings, "clusterStrategy">): boolean {
  const resolved = resolveStrategy(vmi, settings);
  return !resolved.known || FIRST_REQUEST[resolved.strategy][mobilityOf(vmi)] === "refuse";
}

/**
 * `inProgress`: 429. `unlessMigrating`: 429 while a migration is unfinished; otherwise the mark is removed, and the request is answered like the first.
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
