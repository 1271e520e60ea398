/** The facts for decisions on a NodeEvacuation, and the form of a decision. */
import type { Action } from "../kube/action.ts";
import {
  hasEnded,
  type NodeEvacuationFacts,
  type NodeEvacuationPhase,
  type NodeEvacuationStatus,
} from "../kube/node-evacuation.ts";
import { type Deciding, secondsUntil } from "../settings/time.ts";

/** A NodeEvacuation, and the facts on which its rules decide. */
export interface NodeWorld extends Deciding {
  readonly ne: NodeEvacuationFacts;
  /** Whether a tick or a full scan causes this decision. An event alone does not recheck expensive facts. */
  readonly isThorough: boolean;
}

export interface NodeNext {
  readonly phase: NodeEvacuationPhase;
  readonly message: string;
  readonly more?: Partial<NodeEvacuationStatus>;
  /** Actions to complete, in any order, before the status reports them as done. */
  readonly first?: readonly Action[];
  readonly chains?: readonly (readonly Action[])[];
  /** Another reconcile should follow at once. */
  readonly again?: boolean;
}

/** `Nothing`: nothing has to be done or written. */
export type NodeRule = (w: NodeWorld) => NodeNext | "Nothing" | undefined;

/** Returns the value of the annotation that marks Lifeboat's cordon: NAME/UID of the NodeEvacuation. */
export function ownerOf({ name, uid }: NodeEvacuationFacts): string {
  return `${name}/${uid}`;
}

export function isTimeReached({ spec }: NodeEvacuationFacts, now: Date): boolean {
  return secondsUntil(spec.schedule.notBefore, now) === 0;
}

export function hasStarted({ status }: NodeEvacuationFacts): boolean {
  return status.startTime !== undefined;
}

/** Returns whether VMs are leaving the node, or the spec has changed and the status does not show the change yet. */
export function isNewsOf(ne: NodeEvacuationFacts): boolean {
  const { spec, status } = ne;
  const isBehind = spec.intent === "Withdrawn" || (spec.progress === "Paused") !== (status.phase === "Paused");
  return isBehind || (hasStarted(ne) && status.phase === "Evacuating");
}

export function wantedOf(all: readonly NodeEvacuationFacts[], now: Date): readonly NodeEvacuationFacts[] {
  const open = all.filter((one) => !hasEnded(one) && one.spec.intent !== "Withdrawn");
  return open.filter((one) => hasStarted(one) || isTimeReached(one, now));
}

/**
 * Returns the NodeEvacuation that drains the node, if several name the node. A started NodeEvacuation comes first, then
 * the oldest NodeEvacuation that is due.
 */
export function actingOf(
  ne: NodeEvacuationFacts,
  rivals: readonly NodeEvacuationFacts[],
  now: Date,
): NodeEvacuationFacts {
  const wanted = wantedOf([ne, ...rivals], now);
  const [first = ne] = wanted.toSorted(
    (a, b) => Number(hasStarted(b)) - Number(hasStarted(a)) || a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1),
  );
  return first;
}
