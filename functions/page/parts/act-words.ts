/** What has come of an act, and what an act would do. */
import type { foresee } from "../../../shared/policy/evacuation/api.ts";
import type { Act } from "../paths.ts";
import type { Mood } from "./components.ts";

export const ACT_RESULTS = {
  Begun: ["good", "The evacuation has begun."],
  Joined: ["quiet", "An evacuation was under way already: nothing was changed."],
  Retried: ["good", "The next attempt begins now."],
  Withdrawn: ["good", "The evacuation is cancelled. A migration that moves the guest already is left to finish."],
  NotRunning: ["warn", "The VM does not run: there is nothing to move. Nothing was changed."],
  NotEvacuating: ["warn", "Nothing evacuates the VM any more. Nothing was changed."],
  NothingFailed: ["warn", "No evacuation of the VM backs off or was abandoned any more. Nothing was changed."],
  TryAgain: ["warn", "Another evacuation of the VM ended at the same time. Look at it, and try again."],
  DrainTaint: ["warn", "The node of the VM carries the drain taint, which would begin it again. Remove that first."],
} as const satisfies Record<string, readonly [Mood, string]>;

export type ActResult = keyof typeof ACT_RESULTS;

/** What an address says; undefined: none of the list. */
export function actResult(text: string | undefined): (typeof ACT_RESULTS)[ActResult] | undefined {
  return text !== undefined && isResult(text) ? ACT_RESULTS[text] : undefined;
}

function isResult(text: string): text is ActResult {
  return Object.hasOwn(ACT_RESULTS, text);
}

export const ACT_TITLES: Readonly<Record<Act, string>> = {
  evacuate: "Evacuate",
  cancel: "Cancel the evacuation of",
  retry: "Try again now:",
};

export const ACT_BUTTONS: Readonly<Record<Act, string>> = {
  evacuate: "Evacuate",
  cancel: "Cancel the evacuation",
  retry: "Try again now",
};

const MOVES = "KubeVirt migrates it to another node that has room for it. The guest goes on running.";

const IN_BETWEEN = "It is in between: look at it again in a moment.";

/** Of an evacuation that begins now, as the policy sees it. */
export function beginningWords(next: ReturnType<typeof foresee>): string {
  if (next === "StaleRead") return IN_BETWEEN;
  switch (next.phase) {
    case "Pending":
      return MOVES;
    case "BackingOff":
      return next.reason === "KubeVirtBackoff" ? MOVES : IN_BETWEEN;
    case "Migrating":
      return "A migration of it runs already: the evacuation follows that.";
    case "WaitingForOwner":
      return "Its owner is to move it: Lifeboat marks it, and waits for that.";
    case "Duplicate":
      return "An evacuation of it is under way already: that goes on, and nothing else changes.";
    case "Abandoned":
      return `It would be given up at once: ${next.message}.`;
    case "Blocked":
      return `It would wait, and not move yet: ${next.message}.`;
    case "Moved":
    case "Withdrawn":
    case "Gone":
      return IN_BETWEEN;
  }
}
