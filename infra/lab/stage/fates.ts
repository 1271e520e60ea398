/** Whether a guest runs, and whether it may stop, judged from the cluster's state and from nothing else. */
import type { VirtualMachine, World } from "./world.ts";

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

/** Lifeboat has asked KubeVirt to restart it on another node, as a NodeEvacuation wants. */
export function isRestarted({ uid }: VirtualMachine, { events }: World): boolean {
  return [...events.values()].some((event) => event.uid === uid && event.reason === "Restarted");
}

/** The VMI that has come after it. */
export function successorOf({ key, uid }: VirtualMachine, { vmis }: World): VirtualMachine | undefined {
  return [...vmis.values()].find((vmi) => vmi.key === key && vmi.uid !== uid);
}
