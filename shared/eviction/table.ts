/**
 * The answers to evictions, by strategy and by whether the VM can migrate: for first requests and for repeated
 * requests.
 */
import type { VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import { type EvictionStrategy, resolveStrategy, strategyOf } from "../settings/strategy.ts";

/** `migratable` if a live migration can start, otherwise `pinned`. The tables below have a column for each value. */
export type Mobility = "migratable" | "pinned";

export function mobilityOf({ liveMigratable }: VmiFacts): Mobility {
  return liveMigratable.migratable ? "migratable" : "pinned";
}

/**
 * The answer to a first request. `evacuate`: 429, and KubeVirt marks the VM. `refuse`: 429, without a mark. `shutdown`:
 * allowed with a warning.
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
 * Returns whether the VM moves when it has to leave its node. An eviction or node pressure then evacuates the VM, and a
 * deletion of its pod is refused.
 */
export function isToMove(vmi: VmiFacts, settings: Pick<Settings, "clusterStrategy">): boolean {
  return FIRST_REQUEST[strategyOf(vmi, settings)][mobilityOf(vmi)] === "evacuate";
}

/**
 * Returns whether every eviction of the VM is refused until its owner changes the VM. Lifeboat creates no Evacuation
 * for the VM.
 */
export function isHeldFast(vmi: VmiFacts, settings: Pick<Settings, "clusterStrategy">): boolean {
  const resolved = resolveStrategy(vmi, settings);
  return !resolved.known || FIRST_REQUEST[resolved.strategy][mobilityOf(vmi)] === "refuse";
}

/**
 * The answer to a repeated request. `first`: the answer to the first request. `inProgress`: 429. `unlessMigrating`: 429
 * while a migration is unfinished; otherwise Lifeboat removes the mark and gives the first answer.
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
