/**
 * The deletion table: whether a disruption of a VMI is held back until it has moved.
 * Owns: the cells. Does not own: everything that lets a deletion go regardless of them (deletion.ts).
 */
import type { EvictionStrategy, Mobility } from "../strategy.ts";

// prettier-ignore
export const GUARD = {
  //                       migratable       pinned
  None:                  { migratable: "release", pinned: "release" },
  LiveMigrate:           { migratable: "hold",    pinned: "release" },
  LiveMigrateIfPossible: { migratable: "hold",    pinned: "release" },
  External:              { migratable: "hold",    pinned: "hold"    },
} as const satisfies Record<EvictionStrategy, Record<Mobility, "hold" | "release">>;
