/**
 * Finds the cause of a migration. KubeVirt's evacuation controller and its workload updater set different annotations.
 */
import type { MigrationFacts } from "../kube/facts.ts";

type Caused = Pick<MigrationFacts, "automatic" | "evacuates">;

/** Returns whether KubeVirt's workload updater created the migration, to replace a launcher of an older version. */
export function isWorkloadUpdate({ automatic, evacuates }: Caused): boolean {
  return automatic === true && evacuates === undefined;
}

/** Names a migration in a message, with its cause if it is not an evacuation. */
export function called(migration: Caused & Pick<MigrationFacts, "name">): string {
  return `migration ${migration.name}${isWorkloadUpdate(migration) ? " (cause WorkloadUpdate)" : ""}`;
}
