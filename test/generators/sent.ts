/** A VM on its way to another namespace or cluster: what its VMI says, and the migration. */
import { time } from "../policy/fixtures.ts";

export const SENT = {
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
