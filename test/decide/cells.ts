/**
 * Defines the type of tables by eviction strategy and by whether the VM can migrate. A table with a missing cell does
 * not compile.
 */
import { type Mobility } from "../../shared/eviction/table.ts";
import { EVICTION_STRATEGIES, type EvictionStrategy } from "../../shared/settings/strategy.ts";

export type Cells<C> = Readonly<Record<EvictionStrategy, Readonly<Record<Mobility, C>>>>;

export function cellsOf<C>(table: Cells<C>) {
  return EVICTION_STRATEGIES.flatMap((strategy) => [
    [strategy, "migratable", table[strategy].migratable] as const,
    [strategy, "pinned", table[strategy].pinned] as const,
  ]);
}
