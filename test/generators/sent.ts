/** A VM on its way to another namespace or cluster, which is the only way it can move: its VMI, and the migration. */
import { time } from "../policy/fixtures.ts";

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
