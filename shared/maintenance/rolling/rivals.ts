/** Others that maintain the same node: a RollingMaintenance waits for them, and says for which. */
import { hasRollingEnded, type RollingMaintenanceFacts } from "../../kube/rolling-maintenance.ts";
import { wantedOf } from "../world.ts";
import { isPendingRow, isUnavailable, type RollingWorld } from "./world.ts";

/** In words. Undefined: nobody else wants the node. */
export function rivalOf(node: string, w: RollingWorld): string | undefined {
  const holding = w.others.find((one) => !hasRollingEnded(one) && holds(node, one));
  const older = holding ?? w.others.find((one) => isOlder(one, w.rm) && awaits(node, one));
  if (older !== undefined) return `RollingMaintenance ${older.name}, which names it, too`;
  const foreign = w.nodeEvacuations.filter(({ spec, owner }) => spec.nodeName === node && owner?.uid !== w.rm.uid);
  const [wanted] = wantedOf(foreign, w.now);
  return wanted && `NodeEvacuation ${wanted.name} of the same node`;
}

/** Its turn there has come, and the node is not back. */
function holds(node: string, one: RollingMaintenanceFacts): boolean {
  return one.status.nodes.some((row) => row.name === node && isUnavailable(row, one));
}

/** It has started, and the node's turn is still to come. */
function awaits(node: string, one: RollingMaintenanceFacts): boolean {
  return !hasRollingEnded(one) && one.status.nodes.some((row) => row.name === node && isPendingRow(row));
}

function isOlder(one: RollingMaintenanceFacts, than: RollingMaintenanceFacts): boolean {
  return one.createdAt < than.createdAt || (one.createdAt === than.createdAt && one.uid < than.uid);
}
