/** Generates migrations, including migrations of a VM to another namespace or cluster. */
import * as fc from "fast-check";
import * as names from "../../../shared/kube/names.ts";
import { time } from "../fixtures.ts";
import { moment } from "./objects.ts";
import { often } from "./often.ts";

export const anyMigration = fc.record({
  phase: fc.constantFrom("Pending", "Pending", "Scheduling", "Running", "Running", "Succeeded", "Failed", "Failed"),
  by: fc.constantFrom("KubeVirt", "Lifeboat", "Person"),
  deleting: often(false, true),
  created: moment,
  hasAnnotations: often(true, false),
  targetPod: often<string | undefined>("target", undefined),
  failureReason: fc.constantFrom(undefined, "no room"),
  blocked: often<string | undefined>(undefined, names.OVER_QUOTA, "migrationBlockedByBackup"),
});

/**
 * The fields of a VM that cannot migrate within its cluster. Only its running migration to another cluster can move it.
 */
export const SENT = {
  strategy: "LiveMigrateIfPossible",
  migratable: "False",
  mark: undefined,
  state: { targetState: { syncAddress: "10.0.0.1:9185" } },
  migration: {
    phase: "Running",
    by: "Person",
    deleting: false,
    created: time(-9),
    hasAnnotations: true,
    targetPod: undefined,
    failureReason: undefined,
    blocked: undefined,
  },
} as const;
