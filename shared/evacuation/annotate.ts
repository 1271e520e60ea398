/**
 * Annotates KubeVirt's migrations with the reason why KubeVirt created them. Lifeboat annotates its own migrations when
 * it creates them.
 */
import type { Action } from "../kube/action.ts";
import type { MigrationCause } from "../kube/evacuation.ts";
import type { MigrationFacts } from "../kube/facts.ts";
import { isFinal } from "../kube/objects.ts";
import { isOf } from "./attempts.ts";
import { isWorkloadUpdate } from "./migration-cause.ts";
import type { EvacuationCase, Next } from "./world.ts";

/**
 * Returns the cause to annotate. Returns undefined for a migration that a person or an external controller created,
 * because its creator knows the cause.
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

/** Annotates migrations without the annotation, also migrations that ended before Lifeboat saw them. */
export function withCauses(next: Next, f: EvacuationCase): Next {
  if (f.w.isWatched !== true) return next;
  const { actions = [] } = next;
  const own = f.migrations.filter((m) => !isFinal(m) || isOf(m, f.e));
  const missing = actions.some(({ verb }) => verb === "AnnotateMigration") ? [] : own.flatMap((m) => annotated(m, f));
  return { ...next, actions: [...missing, ...actions] };
}
