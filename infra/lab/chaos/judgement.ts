/** What became of a run's VMs, judged from the cluster before and after, and from what the plan and their owners did. */
import { guestRuns, mayStop } from "../demo/summary.ts";
import type { World } from "../stage/world.ts";
import type { CastMember } from "./cast.ts";

export type Fate = "moved" | "stayed" | "shutDown" | "deleted" | "letGo" | "lost";

/** Keys of VMIs. */
export interface Excused {
  /** Their owner has deleted them. */
  readonly deleted: ReadonlySet<string>;
  /** A taint may end them. */
  readonly letGo: ReadonlySet<string>;
}

/**
 * A NoExecute taint does not ask, and the guard lets a VM go that cannot move. A kubelet asks nobody but the shield, and that
 * only about VMs that it has covered before: see ledger.ts.
 */
export function isLetGo({ place, strategy, migratable }: CastMember): boolean {
  if (place === "Exposed" || place === "Covered") return true;
  return place === "Unsettled" && !migratable && strategy !== "External";
}

/** By the VM's key. */
export function fatesOf(before: World, after: World, { deleted, letGo }: Excused): ReadonlyMap<string, Fate> {
  return new Map(
    [...before.vmis.values()].map((vmi) => {
      const now = after.vmis.get(vmi.uid);
      const fate = (): Fate => {
        if (guestRuns(now, after)) return now?.nodeName === vmi.nodeName ? "stayed" : "moved";
        if (deleted.has(vmi.key) && (now === undefined || now.deleting)) return "deleted";
        if (mayStop(vmi, now)) return "shutDown";
        return letGo.has(vmi.key) ? "letGo" : "lost";
      };
      return [vmi.key, fate()];
    }),
  );
}
