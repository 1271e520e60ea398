/** Finds the cause of a migration by its annotations. */
import type { MigrationFacts } from "../kube/facts.ts";

type Caused = Pick<MigrationFacts, "automatic" | "evacuates">;

/**
 * Returns whether KubeVirt's workload updater created the migration. The updater replaces launcher pods that have an
 * old image.
 */
export function isWorkloadUpdate({ automatic, evacuates }: Caused): boolean {
  return automatic === true && evacuates === undefined;
}

/** Returns a migration's name for a message. Adds the cause if KubeVirt's workload updater created the migration. */
export function called(migration: Caused & Pick<MigrationFacts, "name">): string {
  return `migration ${migration.name}${isWorkloadUpdate(migration) ? " (cause WorkloadUpdate)" : ""}`;
}
