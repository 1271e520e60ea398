/** The answer to an eviction, by strategy and by whether the VM can migrate: for the first request, and for requests that repeat it. */
import type { VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import { type EvictionStrategy, resolveStrategy, strategyOf } from "../settings/strategy.ts";

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
