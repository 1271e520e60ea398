/** The facts for decisions on a NodeEvacuation, and the shape of a decision. */
import type { Action } from "../kube/action.ts";
import {
  hasEnded,
  type NodeEvacuationFacts,
  type NodeEvacuationPhase,
  type NodeEvacuationStatus,
} from "../kube/node-evacuation.ts";
import { type Deciding, secondsUntil } from "../settings/time.ts";

/** The subject of the rules of a NodeEvacuation, and the facts that they may ask for. */
export interface NodeWorld extends Deciding {
  readonly ne: NodeEvacuationFacts;
  /** By a tick or a scan, and not by an event: what was judged before is judged anew. */
  readonly isThorough: boolean;
}

export interface NodeNext {
  readonly phase: NodeEvacuationPhase;
  /** For people. */
  readonly message: string;
  readonly more?: Partial<NodeEvacuationStatus>;
  /** Independent of each other, and performed before the status is written, which says that they are done. */
  readonly first?: readonly Action[];
  /** Independent of each other and of the status. */
  readonly chains?: readonly (readonly Action[])[];
  /** Another reconcile is worth it at once. */
  readonly again?: boolean;
}

/** `Nothing`: there is nothing to do, nor to say. */
export type NodeRule = (w: NodeWorld) => NodeNext | "Nothing" | undefined;

/** As its cordon is annotated. */
export function ownerOf({ name, uid }: NodeEvacuationFacts): string {
  return `${name}/${uid}`;
}

export function isTimeReached({ spec }: NodeEvacuationFacts, now: Date): boolean {
  return secondsUntil(spec.schedule.notBefore, now) === 0;
}

export function hasStarted({ status }: NodeEvacuationFacts): boolean {
  return status.startTime !== undefined;
}

/** VMs leave, or a person has changed something that the status does not show yet. */
export function isNewsOf(ne: NodeEvacuationFacts): boolean {
  const { spec, status } = ne;
  const isBehind = spec.intent === "Withdrawn" || (spec.progress === "Paused") !== (status.phase === "Paused");
  return isBehind || (hasStarted(ne) && status.phase === "Evacuating");
}

export function wantedOf(all: readonly NodeEvacuationFacts[], now: Date): readonly NodeEvacuationFacts[] {
  const open = all.filter((one) => !hasEnded(one) && one.spec.intent !== "Withdrawn");
  return open.filter((one) => hasStarted(one) || isTimeReached(one, now));
}

/** If several NodeEvacuations name the node, returns the one that acts: the one that started first, otherwise the oldest that is due. */
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
