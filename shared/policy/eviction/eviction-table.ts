/**
 * The eviction tables: what the first and the later requests to evict a launcher pod get.
 * Owns: the cells. Does not own: the facts that select a cell, nor what the words become (eviction.ts).
 * Upstream: KubeVirt docs/handling-eviction-requests.md and descheduler-support; a missing cell does not compile.
 */
import type { VmiFacts } from "../facts.ts";
import type { Settings } from "../settings.ts";
import { type EvictionStrategy, type Mobility, mobilityOf, strategyOf } from "../strategy.ts";

/** `evacuate`: mark and 429. `refuse`: 429, no mark. `shutdown`: allow with a warning. */
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
 * Whether the VM moves when it has to leave its node: where an eviction evacuates it, a deletion that does not ask is held,
 * and node pressure moves it.
 */
export function isToMove(vmi: VmiFacts, settings: Pick<Settings, "clusterStrategy">): boolean {
  return FIRST_REQUEST[strategyOf(vmi, settings)][mobilityOf(vmi)] === "evacuate";
}

/**
 * `inProgress`: 429. `unlessMigrating`: as in progress while a migration is unfinished, else the mark is
 * cleared and the request is a first one. `first`: the mark means nothing, the request is a first one.
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
