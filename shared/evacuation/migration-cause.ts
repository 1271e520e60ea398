/** Finds the cause of a migration by its annotations. */
import type { MigrationFacts } from "../kube/facts.ts";

type Caused = Pick<MigrationFacts, "automatic" | "evacuates">;

/** Returns whether KubeVirt's workload updater created the migration. It replaces launcher pods with an old image. */
export function isWorkloadUpdate({ automatic, evacuates }: Caused): boolean {
  return automatic === true && evacuates === undefined;
}

/** Returns a migration's name for a message. Adds the cause if it is not an evacuation. */
export function called(migration: Caused & Pick<MigrationFacts, "name">): string {
  return `migration ${migration.name}${isWorkloadUpdate(migration) ? " (cause WorkloadUpdate)" : ""}`;
}
