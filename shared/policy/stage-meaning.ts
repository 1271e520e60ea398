/**
 * What each stage of an evacuation means, in words for administrators.
 * Owns: the words, and which actions a stage may lead to. Does not own: the stages (stage.ts), the actions
 * (evacuation.ts). A test keeps them together.
 */
import type { Action } from "./action.ts";
import type { Stage } from "./stage.ts";

export interface StageMeaning {
  readonly means: string;
  readonly done: string;
  /** Besides Events. */
  readonly actions: readonly Action["verb"][];
}

export const STAGE_MEANING = {
  Idle: {
    means: "is not to leave its node, or is being deleted, or has ended",
    done: "nothing",
    actions: [],
  },
  Unrecorded: {
    means: "was marked by somebody else, or its node carries the drain taint",
    done: "writes record and label; the back-off of an evacuation that ended here is kept",
    actions: ["Record"],
  },
  Waiting: {
    means:
      "is in back-off, or KubeVirt has time left: for the mark, where its webhook sets it, or for a migration of its own",
    done: "nothing until then",
    actions: [],
  },
  Ready: {
    means: "waits for a migration",
    done: "reserves a slot within the limits; then, with its budget seen at 2 and one pod active, creates the migration; kept from that for three minutes, it counts a failed attempt, as others wait for the slot",
    actions: ["WriteSlots", "CreateMigration"],
  },
  Migrating: {
    means: "has an unfinished migration, whoever made it",
    done: "adopts that of KubeVirt's evacuation controller (`evacuation: Auto`); leaves any other alone",
    actions: ["AdoptMigration"],
  },
  Settling: {
    means: "has a migration that has succeeded, and is still there or has come back",
    done: "if it really is there, begins a new record",
    actions: ["Record"],
  },
  AttemptFailed: {
    means: "has a migration that has failed and is not counted yet",
    done: "counts it and backs off; after the last one unmarks the VM, deletes what is pending and keeps the back-off",
    actions: ["Record", "Unmark", "DeleteMigration"],
  },
  External: {
    means: "is marked, with strategy External",
    done: "nothing: whoever manages the VM acts on the mark",
    actions: [],
  },
  Pinned: {
    means: "is marked and cannot migrate",
    done: "says so, with KubeVirt's reason, once",
    actions: [],
  },
  Withdrawn: {
    means: "lost its mark by somebody else's hand, or its node the taint that it was to leave for",
    done: "ends the evacuation: as cancelled, with its back-off; without the taint as withdrawn, which keeps no new one waiting",
    actions: ["Unmark"],
  },
  Leftover: {
    means: "has moved, or its evacuation is over",
    done: "counts it; deletes what is pending of one given up; counted, its back-off over and the budget back at 1, clears mark, label and record",
    actions: ["WriteCounters", "DeleteMigration", "Forget"],
  },
} as const satisfies Record<Stage["stage"], StageMeaning>;
