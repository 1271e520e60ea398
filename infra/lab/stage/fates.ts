/** Determines from the cluster's state whether a guest runs, and whether the guest may stop. */
import type { VirtualMachine, World } from "./world.ts";

/** Returns whether the guest runs. Its VMI must be running, and its virt-launcher pod must be on the VMI's node. */
export function guestRuns(vmi: VirtualMachine | undefined, world: World): boolean {
  if (vmi?.phase !== "Running") return false;
  return [...world.pods.values()].some(
    (pod) => pod.launcherOf === vmi.uid && pod.nodeName === vmi.nodeName && pod.phase === "Running",
  );
}

/**
 * Returns whether the eviction strategy lets the guest stop. With External, the guest may stop only after the VM's
 * owner has deleted the VMI.
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

/** Returns whether Lifeboat restarted the VM on another node for a NodeEvacuation. */
export function isRestarted({ uid }: VirtualMachine, { events }: World): boolean {
  return [...events.values()].some((event) => event.uid === uid && event.reason === "Restarted");
}

export function successorOf({ key, uid }: VirtualMachine, { vmis }: World): VirtualMachine | undefined {
  return [...vmis.values()].find((vmi) => vmi.key === key && vmi.uid !== uid);
}
