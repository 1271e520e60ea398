/** The facts for decisions on a RollingMaintenance, and the form of a decision. */
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
  /** Every other RollingMaintenance. */
  readonly others: readonly RollingMaintenanceFacts[];
  /** Every NodeEvacuation. */
  readonly nodeEvacuations: readonly NodeEvacuationFacts[];
  /** The nodes of this RollingMaintenance, with the present state of their NodeEvacuations. */
  readonly rows: readonly NodeRow[];
}

export interface RollingNext {
  readonly phase: RollingPhase;
  readonly message: string;
  /** The nodes after the step. Absent: they are unchanged. */
  readonly rows?: readonly NodeRow[];
  readonly more?: Partial<RollingMaintenanceStatus>;
  /** Performed before the status is written. */
  readonly first?: readonly Action[];
  /** Another reconcile should follow at once. */
  readonly again?: boolean;
}

/** `Nothing`: nothing has to be done or written. */
export type RollingRule = (w: RollingWorld) => RollingNext | "Nothing" | undefined;

const BEING_DRAINED: readonly RowPhase[] = ["Starting", "Scheduled", "Evacuating", "Paused", "Blocked"];
const FAILED: readonly RowPhase[] = ["Refused", "Expired", "Withdrawn", "Gone"];

export const isActiveRow = ({ phase }: NodeRow): boolean => BEING_DRAINED.includes(phase);
/** Returns whether the node ended in a phase other than Evacuated. */
export const isFailedRow = ({ phase }: NodeRow): boolean => FAILED.includes(phase);
export const isPendingRow = ({ phase }: NodeRow): boolean => phase === "Pending";

/** Returns whether the node is out of service: it is being drained, or it is drained and not yet back in service. */
export function isUnavailable(row: NodeRow, { spec }: Pick<RollingMaintenanceFacts, "spec">): boolean {
  return isActiveRow(row) || (row.phase === "Evacuated" && spec.nextNode === "WhenUncordoned");
}

/** Returns whether no further drain starts because a drain failed. */
export function isStoppedByFailure({ spec }: Pick<RollingMaintenanceFacts, "spec">, rows: readonly NodeRow[]): boolean {
  return spec.whenNodeFails === "Stop" && rows.some(isFailedRow);
}

/** Returns whether no further drain starts because `notAfter` has passed. */
export function isPastWindow({ rm, now }: Pick<RollingWorld, "rm" | "now">): boolean {
  const { notAfter } = rm.spec.schedule;
  return notAfter !== undefined && secondsUntil(notAfter, now) === 0;
}

/** Returns the NodeEvacuation of a node. */
export function evacuationOf(
  { nodeEvacuation }: NodeRow,
  { rm, nodeEvacuations }: Pick<RollingWorld, "rm" | "nodeEvacuations">,
): NodeEvacuationFacts | undefined {
  return nodeEvacuations.find(({ name, owner }) => name === nodeEvacuation && owner?.uid === rm.uid);
}

/**
 * Returns whether a reconcile may have work: the RollingMaintenance has not ended, or the outcome of some VM is not
 * known.
 */
export function isRollingOpen(rm: RollingMaintenanceFacts, nodeEvacuations: readonly NodeEvacuationFacts[]): boolean {
  if (!hasRollingEnded(rm)) return true;
  return rm.status.nodes.some((row) => {
    const ne = evacuationOf(row, { rm, nodeEvacuations });
    return ne !== undefined && JSON.stringify(row.virtualMachines) !== JSON.stringify(ne.status.virtualMachines);
  });
}

/** Counts the nodes of each kind. */
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
