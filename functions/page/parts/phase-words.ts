/** What a phase of an Evacuation means for the VM, and who can change it. */
import type { Cause } from "../../../shared/policy/cause.ts";
import type { Phase } from "../../../shared/policy/evacuation/phase.ts";
import { REMEDY, remedyOfBlocked } from "../../../shared/policy/preflight/remedies.ts";

interface PhaseWords {
  readonly means: string;
  /** Undefined: nothing has to be changed. */
  readonly whoCanChange?: string;
}

export const PHASE_WORDS: Readonly<Record<Phase, PhaseWords>> = {
  Pending: { means: "is to move; KubeVirt has not begun its migration yet" },
  Migrating: { means: "moves to another node as soon as KubeVirt lets it" },
  BackingOff: {
    means: "could not be moved; Lifeboat waits, and then tries again",
    whoCanChange: REMEDY.BackingOff,
  },
  WaitingForOwner: {
    means: "waits for the controller that owns it to move it",
    whoCanChange: REMEDY.External,
  },
  Blocked: {
    means: "cannot leave its node as things are",
    whoCanChange: REMEDY.NotMigratable,
  },
  Moved: { means: "has moved" },
  Abandoned: {
    means: "could not be moved; Lifeboat has given up",
    whoCanChange: REMEDY.Abandoned,
  },
  Withdrawn: { means: "stays: its evacuation was cancelled, or is not wanted any more" },
  Duplicate: { means: "is moved by another evacuation of the same pod" },
  Gone: { means: "has ended, or was deleted" },
};

/** Why a VM has to leave, after "because of" or alone. */
export const CAUSE_WORDS: Readonly<Record<Cause, string>> = {
  ApiEviction: "an eviction (kubectl drain)",
  Descheduler: "a descheduler",
  Preemption: "a pod of higher priority",
  NoExecuteTaint: "a NoExecute taint",
  NodePressure: "memory, disk or PID pressure on its node",
  DrainTaint: "KubeVirt's drain taint",
  Operator: "a person",
  NodeTermination: "the end of its node",
};

/** Of a Blocked one, by its reason; else by its phase. */
export function whoCanChange(phase: Phase, reason: string | undefined): string | undefined {
  if (phase !== "Blocked") return PHASE_WORDS[phase].whoCanChange;
  return remedyOfBlocked(reason);
}
