/**
 * What became of a run's VMs, judged from the cluster before and after, and from what their owners did.
 * Owns: the fates. Does not own: when a guest counts as running, or as free to stop (infra/demo/summary.ts).
 */
import { guestRuns, mayStop } from "../demo/summary.ts";
import type { World } from "../demo/world.ts";

export type Fate = "moved" | "stayed" | "shutDown" | "deleted" | "lost";

/** By the VM's key. `deleted`: keys of VMIs that somebody has deleted. */
export function fatesOf(before: World, after: World, deleted: ReadonlySet<string>): ReadonlyMap<string, Fate> {
  return new Map(
    [...before.vmis.values()].map((vmi) => {
      const now = after.vmis.get(vmi.uid);
      const fate = (): Fate => {
        if (guestRuns(now, after)) return now?.nodeName === vmi.nodeName ? "stayed" : "moved";
        if (deleted.has(vmi.key) && (now === undefined || now.deleting)) return "deleted";
        return mayStop(vmi, now) ? "shutDown" : "lost";
      };
      return [vmi.key, fate()];
    }),
  );
}
