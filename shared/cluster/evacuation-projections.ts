/**
 * From parsed Evacuations and migrations to facts.
 * Owns: those projections. Does not own: the schemas (schemas.ts, evacuation-schemas.ts), rules.
 */
import type { EvacuationCondition, EvacuationFacts, MigrationFacts } from "../policy/facts.ts";
import * as names from "../policy/names.ts";
import { CONDITION_TYPES } from "../policy/evacuation/phase.ts";
import type { Evacuation, Migration } from "./evacuation-schemas.ts";
import { identityOf, type Parsed, present } from "./projections.ts";

/**
 * Conditions of a migration that KubeVirt cannot begin, in the order in which it looks at them.
 * Upstream: staging/src/kubevirt.io/api/core/v1/types.go.
 */
const BLOCKING: readonly string[] = ["migrationBlockedByBackup", "migrationBlockedByUtilityVolumes", names.OVER_QUOTA];

function blockedBy(conditions: Parsed<typeof Migration>["status"]["conditions"]): MigrationFacts["blockedBy"] {
  const condition = conditions.find((c) => BLOCKING.includes(c.type) && c.status === "True");
  if (condition === undefined) return undefined;
  const { type, reason, message } = condition;
  return { type, ...present({ reason, message }) };
}

export function migrationFacts({ metadata, spec, status }: Parsed<typeof Migration>): MigrationFacts {
  const annotations = metadata.annotations ?? {};
  const { sourceNode, targetNode, targetPod, failureReason } = status.migrationState ?? {};
  return {
    ...identityOf(metadata),
    vmiName: spec.vmiName,
    phase: status.phase,
    createdAt: Date.parse(metadata.creationTimestamp ?? "") || 0,
    hasAnnotations: Boolean(metadata.annotations),
    ...present({
      evacuates: annotations[names.EVACUATION_MIGRATION_ANNOTATION],
      cause: annotations[names.CAUSE_ANNOTATION],
      sourceNode,
      targetNode,
      targetPod,
      failureReason,
      blockedBy: blockedBy(status.conditions),
    }),
  };
}

/** Another party may add conditions of its own. They hide nothing of ours, and the next write of ours ends them. */
function isOurs(
  condition: Omit<EvacuationCondition, "type" | "status"> & { type: string; status: string },
): condition is EvacuationCondition {
  const { type, status } = condition;
  return CONDITION_TYPES.some((one) => one === type) && (status === "True" || status === "False");
}

export function evacuationFacts({ metadata, spec, status }: Parsed<typeof Evacuation>): EvacuationFacts {
  const { namespace, name, uid, resourceVersion, creationTimestamp } = metadata;
  const { virtualMachineInstance, ...rest } = spec;
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    createdAt: Date.parse(creationTimestamp ?? "") || 0,
    spec: { vmiName: virtualMachineInstance.name, ...rest },
    status: { ...status, conditions: status.conditions.filter(isOurs) },
  };
}
