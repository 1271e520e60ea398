/** Names migrations by their cause, which KubeVirt says by an annotation of each of its two controllers. */
import type { MigrationFacts } from "../kube/facts.ts";

type Caused = Pick<MigrationFacts, "automatic" | "evacuates">;

/** Whether KubeVirt's workload updater has created it, to replace a launcher of an older version. */
export function isWorkloadUpdate({ automatic, evacuates }: Caused): boolean {
  return automatic === true && evacuates === undefined;
}

/** Names a migration in a message; one that no evacuation has caused with its cause. */
export function called(migration: Caused & Pick<MigrationFacts, "name">): string {
  return `migration ${migration.name}${isWorkloadUpdate(migration) ? " (cause WorkloadUpdate)" : ""}`;
}
