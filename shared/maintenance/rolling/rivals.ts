/** Finds other maintenance of the same node. A RollingMaintenance waits until this other maintenance has ended. */
import { hasRollingEnded, type RollingMaintenanceFacts } from "../../kube/rolling-maintenance.ts";
import { wantedOf } from "../world.ts";
import { ROLLING_MESSAGES as MESSAGES } from "./messages.ts";
import { isPendingRow, isUnavailable, type RollingWorld } from "./world.ts";

/** Returns a message about the other maintenance of a node. Returns undefined if there is none. */
export function rivalOf(node: string, w: RollingWorld): string | undefined {
  const holding = w.others.find((one) => !hasRollingEnded(one) && holds(node, one));
  const older = holding ?? w.others.find((one) => isOlder(one, w.rm) && awaits(node, one));
  if (older !== undefined) return MESSAGES.olderRolling(older.name);
  const foreign = w.nodeEvacuations.filter(({ spec, owner }) => spec.nodeName === node && owner?.uid !== w.rm.uid);
  const [wanted] = wantedOf(foreign, w.now);
  return wanted && MESSAGES.otherNodeEvacuation(wanted.name);
}

/** Returns true if this RollingMaintenance has started to drain the node and the node is not back in service. */
function holds(node: string, one: RollingMaintenanceFacts): boolean {
  return one.status.nodes.some((row) => row.name === node && isUnavailable(row, one));
}

/** Returns true if this RollingMaintenance still has to start the drain of the node. */
function awaits(node: string, one: RollingMaintenanceFacts): boolean {
  return !hasRollingEnded(one) && one.status.nodes.some((row) => row.name === node && isPendingRow(row));
}

function isOlder(one: RollingMaintenanceFacts, than: RollingMaintenanceFacts): boolean {
  return one.createdAt < than.createdAt || (one.createdAt === than.createdAt && one.uid < than.uid);
}
