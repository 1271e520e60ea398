/**
 * Cleans up old objects of node maintenance. Deletes old objects that Lifeboat or its command created, and shortens the
 * status of other old objects.
 */
import type { Action, Plan } from "../kube/action.ts";
import { hasEnded, isOpen, type NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { hasRollingEnded, type RollingMaintenanceFacts } from "../kube/rolling-maintenance.ts";
import { type Moment, secondsSince } from "../settings/time.ts";

interface Seen extends Moment {
  readonly nodeEvacuations: readonly NodeEvacuationFacts[];
  readonly rolling: readonly RollingMaintenanceFacts[];
}

/**
 * Plans the cleanup of old objects. Deletes only what Lifeboat or its command created. If Lifeboat deleted the object
 * of a GitOps tool, the tool would create the object again, and the node would be drained again.
 */
export function planMaintenanceHistory(seen: Seen): Plan {
  const under = new Set(seen.rolling.filter((rm) => !hasRollingEnded(rm)).map(({ uid }) => uid));
  const nodes = seen.nodeEvacuations.filter((ne) => isOver(ne, seen) && !under.has(ne.owner?.uid ?? ""));
  // Deleting a RollingMaintenance also deletes its NodeEvacuations, which might still have work to do.
  const open = new Set(seen.nodeEvacuations.filter(isOpen).map(({ owner }) => owner?.uid));
  const several = seen.rolling.filter(
    (rm) => hasRollingEnded(rm) && !open.has(rm.uid) && isOld(rm.status.completionTime, seen),
  );
  return { chains: [...nodes.flatMap(forgotten), ...several.flatMap(forgottenRolling)].map((action) => [action]) };
}

function isOver(ne: NodeEvacuationFacts, moment: Moment): boolean {
  return hasEnded(ne) && !isOpen(ne) && isOld(ne.status.completionTime, moment);
}

function isOld(completionTime: string | undefined, { settings, now }: Moment): boolean {
  return secondsSince(completionTime, now) >= settings.maintenance.historySeconds;
}

function forgotten(nodeEvacuation: NodeEvacuationFacts): readonly Action[] {
  const { isCommands, status } = nodeEvacuation;
  if (isCommands) return [{ verb: "DeleteNodeEvacuation", nodeEvacuation }];
  if (status.outcomes.length + status.blockers.length === 0) return [];
  return [{ verb: "WriteNodeStatus", nodeEvacuation, status: { ...status, outcomes: [], blockers: [] } }];
}

function forgottenRolling(rm: RollingMaintenanceFacts): readonly Action[] {
  if (rm.isCommands) return [{ verb: "DeleteRollingMaintenance", rm }];
  if (rm.status.nodes.every(({ message }) => message === undefined)) return [];
  const nodes = rm.status.nodes.map((row) => ({ ...row, message: undefined }));
  return [{ verb: "WriteRollingStatus", rm, status: { ...rm.status, nodes } }];
}
