/** The facts for decisions about a RollingMaintenance, and the type of a decision. */
import type { Facts } from "../../facts/facts.ts";
import type { Action } from "../../kube/action.ts";
import type { NodeEvacuationFacts } from "../../kube/node-evacuation.ts";
import {
  hasRollingEnded,
  type NodeRow,
  type RollingMaintenanceFacts,
  type RollingMaintenanceStatus,
  type RollingPhase,
  type RowPhase,
} from "../../kube/rolling-maintenance.ts";
import { type Moment, secondsUntil } from "../../settings/time.ts";

export interface RollingWorld extends Moment {
  readonly facts: Facts;
  readonly rm: RollingMaintenanceFacts;
  readonly others: readonly RollingMaintenanceFacts[];
  readonly nodeEvacuations: readonly NodeEvacuationFacts[];
  /** The nodes of this RollingMaintenance, updated with the current state of their NodeEvacuations. */
  readonly rows: readonly NodeRow[];
}

export interface RollingNext {
  readonly phase: RollingPhase;
  readonly message: string;
  /** The nodes after this step. Absent if the nodes do not change. */
  readonly rows?: readonly NodeRow[];
  readonly more?: Partial<RollingMaintenanceStatus>;
  /** Lifeboat performs these actions before it writes the status. */
  readonly first?: readonly Action[];
  readonly again?: boolean;
}

/** A rule returns `Nothing` if it applies but there is nothing to do or to write. */
export type RollingRule = (w: RollingWorld) => RollingNext | "Nothing" | undefined;

const BEING_DRAINED: readonly RowPhase[] = ["Starting", "Scheduled", "Evacuating", "Paused", "Blocked"];
const FAILED: readonly RowPhase[] = ["Refused", "Expired", "Withdrawn", "Gone"];

export const isActiveRow = ({ phase }: NodeRow): boolean => BEING_DRAINED.includes(phase);
/** Returns true if the node ended in a phase other than Evacuated. */
export const isFailedRow = ({ phase }: NodeRow): boolean => FAILED.includes(phase);
export const isPendingRow = ({ phase }: NodeRow): boolean => phase === "Pending";

/**
 * Returns true if the node is out of service. A node is out of service during its drain. If `spec.nextNode` is
 * WhenUncordoned, a drained node stays out of service until its phase is Returned or Gone.
 */
export function isUnavailable(row: NodeRow, { spec }: Pick<RollingMaintenanceFacts, "spec">): boolean {
  return isActiveRow(row) || (row.phase === "Evacuated" && spec.nextNode === "WhenUncordoned");
}

/** Returns true if no further drain starts because a drain has failed. */
export function isStoppedByFailure({ spec }: Pick<RollingMaintenanceFacts, "spec">, rows: readonly NodeRow[]): boolean {
  return spec.whenNodeFails === "Stop" && rows.some(isFailedRow);
}

/** Returns true if `notAfter` has passed. */
export function isPastWindow({ rm, now }: Pick<RollingWorld, "rm" | "now">): boolean {
  const { notAfter } = rm.spec.schedule;
  return notAfter !== undefined && secondsUntil(notAfter, now) === 0;
}

export function evacuationOf(
  { nodeEvacuation }: NodeRow,
  { rm, nodeEvacuations }: Pick<RollingWorld, "rm" | "nodeEvacuations">,
): NodeEvacuationFacts | undefined {
  return nodeEvacuations.find(({ name, owner }) => name === nodeEvacuation && owner?.uid === rm.uid);
}

/**
 * Returns true if the RollingMaintenance has not ended, or if its status does not show the latest VM counts of a
 * NodeEvacuation yet.
 */
export function isRollingOpen(rm: RollingMaintenanceFacts, nodeEvacuations: readonly NodeEvacuationFacts[]): boolean {
  if (!hasRollingEnded(rm)) return true;
  return rm.status.nodes.some((row) => {
    const ne = evacuationOf(row, { rm, nodeEvacuations });
    return ne !== undefined && JSON.stringify(row.virtualMachines) !== JSON.stringify(ne.status.virtualMachines);
  });
}

export function nodeCountsOf(rows: readonly NodeRow[]) {
  const count = (is: (row: NodeRow) => boolean) => rows.filter(is).length;
  return {
    total: rows.length,
    pending: count(isPendingRow),
    active: count(isActiveRow),
    evacuated: count(({ phase }) => phase === "Evacuated" || phase === "Returned"),
    failed: count(isFailedRow),
  };
}
