/** Annotates KubeVirt's migrations with their cause. Lifeboat creates its own migrations with this annotation. */
import type { Action } from "../kube/action.ts";
import type { MigrationCause } from "../kube/evacuation.ts";
import type { MigrationFacts } from "../kube/facts.ts";
import { isFinal } from "../kube/objects.ts";
import { isOf } from "./attempts.ts";
import { isWorkloadUpdate } from "./migration-cause.ts";
import type { EvacuationCase, Next } from "./world.ts";

/**
 * Returns the cause of the migration. Returns undefined if a person or an external controller created the migration.
 */
function causeOf(migration: MigrationFacts, { e }: EvacuationCase): MigrationCause | undefined {
  if (isWorkloadUpdate(migration)) return "WorkloadUpdate";
  return migration.evacuates === undefined ? undefined : e.spec.cause;
}

export function annotated(migration: MigrationFacts, f: EvacuationCase): readonly Action[] {
  const cause = causeOf(migration, f);
  if (cause === undefined || migration.cause !== undefined || migration.deleting) return [];
  return [{ verb: "AnnotateMigration", migration, cause, evacuation: f.e.name }];
}

/**
 * Adds actions that annotate the VM's migrations with their cause if the annotation is missing. Includes migrations of
 * this Evacuation that have ended. Adds no action if this process does not watch migrations.
 */
export function withCauses(next: Next, f: EvacuationCase): Next {
  if (f.w.isWatched !== true) return next;
  const { actions = [] } = next;
  const own = f.migrations.filter((m) => !isFinal(m) || isOf(m, f.e));
  const missing = actions.some(({ verb }) => verb === "AnnotateMigration") ? [] : own.flatMap((m) => annotated(m, f));
  return { ...next, actions: [...missing, ...actions] };
}
