/** The facts for decisions about a NodeEvacuation, and the type of a decision. */
import type { Action } from "../kube/action.ts";
import {
  hasEnded,
  type NodeEvacuationFacts,
  type NodeEvacuationPhase,
  type NodeEvacuationStatus,
} from "../kube/node-evacuation.ts";
import { type Deciding, hasCome } from "../settings/time.ts";

/** A NodeEvacuation, with the facts that its rules need. */
export interface NodeWorld extends Deciding {
  readonly ne: NodeEvacuationFacts;
  /**
   * True in the reconcile that runs once a minute, and in a full scan. Other reconciles do not check expensive facts
   * again.
   */
  readonly isThorough: boolean;
}

export interface NodeNext {
  readonly phase: NodeEvacuationPhase;
  readonly message: string;
  readonly more?: Partial<NodeEvacuationStatus>;
  /** Lifeboat performs these actions, in any order, before it writes the status. */
  readonly first?: readonly Action[];
  readonly chains?: readonly (readonly Action[])[];
  readonly again?: boolean;
}

/** A rule returns `Nothing` if it applies but there is nothing to do or to write. */
export type NodeRule = (w: NodeWorld) => NodeNext | "Nothing" | undefined;

/** Returns the value of Lifeboat's cordon annotation: NAME/UID of the NodeEvacuation. */
export function ownerOf({ name, uid }: NodeEvacuationFacts): string {
  return `${name}/${uid}`;
}

export function isTimeReached({ spec: { schedule } }: NodeEvacuationFacts, now: Date): boolean {
  return schedule.notBefore === undefined || hasCome(schedule.notBefore, now);
}

export function hasStarted({ status }: NodeEvacuationFacts): boolean {
  return status.startTime !== undefined;
}

/** Returns true if VMs are leaving the node, or if the status does not show the latest change of the spec yet. */
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
 * Returns which of the node's NodeEvacuations drains the node. A started NodeEvacuation comes first, and then the
 * oldest NodeEvacuation that is due.
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
