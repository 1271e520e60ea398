/** What became of the virtual machines, judged from the cluster's state before and after, and from nothing else. */
import type { VirtualMachine, World } from "../stage/world.ts";

export interface Summary {
  readonly moved: readonly string[];
  readonly shutDown: readonly string[];
  readonly untouched: readonly string[];
  /** Still on the drained node, alive. */
  readonly remaining: readonly string[];
  readonly lost: readonly string[];
}

type Fate = keyof Summary;

export function summarize(before: World, after: World, drainedNode: string): Summary {
  const summary: Record<Fate, string[]> = { moved: [], shutDown: [], untouched: [], remaining: [], lost: [] };
  for (const vmi of before.vmis.values()) summary[fateOf(vmi, after, drainedNode)].push(vmi.key);
  for (const keys of Object.values(summary)) keys.sort();
  return summary;
}

function fateOf(before: VirtualMachine, after: World, drainedNode: string): Fate {
  const now = after.vmis.get(before.uid);
  if (!guestRuns(now, after)) return mayStop(before, now) ? "shutDown" : "lost";
  if (now?.nodeName !== before.nodeName) return "moved";
  return before.nodeName === drainedNode ? "remaining" : "untouched";
}

/** A guest runs if its VMI says so and the launcher pod that holds it is there, on the node where the VMI is. */
export function guestRuns(vmi: VirtualMachine | undefined, world: World): boolean {
  if (vmi?.phase !== "Running") return false;
  return [...world.pods.values()].some(
    (pod) => pod.launcherOf === vmi.uid && pod.nodeName === vmi.nodeName && pod.phase === "Running",
  );
}

/**
 * Whether the strategy lets the guest stop. With External that is for its owner to decide, who deletes the VMI;
 * a VMI that is still there with a guest that ended was stopped by an eviction.
 */
export function mayStop(before: VirtualMachine, now: VirtualMachine | undefined): boolean {
  switch (before.strategy) {
    case "None":
      return true;
    case "LiveMigrateIfPossible":
      return before.pinnedBecause !== undefined;
    case "External":
      return now === undefined || now.deleting;
    default:
      return false;
  }
}
