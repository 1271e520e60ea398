/** What is known when a NodeEvacuation is decided on, and the shape of what is decided. */
import type { Action } from "../kube/action.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { NodeFacts, VmiFacts } from "../kube/facts.ts";
import {
  hasEnded,
  type NodeEvacuationFacts,
  type NodeEvacuationPhase,
  type NodeEvacuationStatus,
  type VirtualMachineFacts,
} from "../kube/node-evacuation.ts";
import type { Refusal } from "../budget/refusal.ts";
import type { PreflightFacts } from "../preflight/facts.ts";
import type { Subject } from "../preflight/progress.ts";
import { type Moment, secondsUntil } from "../settings/time.ts";

/** Facts of a VirtualMachine: its run strategy, its owner's wishes, and the facts that decide its next start. */
export type VmFacts = Pick<VirtualMachineFacts, "runStrategy" | "notBefore" | "whenBlocked" | "start">;

/** Where a VMI is that is not among those of the node. */
export interface Whereabouts {
  /** `Here`: on the node all the same. `Again`: the VM runs in another VMI. `Off`: it does not run. */
  readonly is: "Here" | "Elsewhere" | "Again" | "Off";
  readonly node?: string | undefined;
}

/** A VM that may leave now. */
export interface Candidate {
  readonly vmi: VmiFacts;
  /** All of this VM. */
  readonly evacuations: readonly EvacuationFacts[];
}

export interface NodeWorld extends Moment {
  readonly ne: NodeEvacuationFacts;
  /** Absent: it is gone. */
  readonly node: NodeFacts | undefined;
  /** Others that name the node. */
  readonly rivals: readonly NodeEvacuationFacts[];
  /** The one of `schedule.after`, if it exists, and its node. */
  readonly before: { readonly ne?: NodeEvacuationFacts | undefined; readonly node?: NodeFacts | undefined };
  /** On the node, and not ended; in the order in which they leave. */
  readonly vmis: readonly VmiFacts[];
  /** Its own, ended ones included. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Of marked VMs, those that somebody else has asked for. */
  readonly others: readonly EvacuationFacts[];
  /** VirtualMachines, as far as something depends on them. `None`: there is none. */
  readonly vms: ReadonlyMap<string, VmFacts | "None">;
  /** Why some would not come up again if they were restarted. */
  readonly obstacles: ReadonlyMap<string, string>;
  /** Why no other node may take some, whatever room it has: by what their owners ask for. */
  readonly bound: ReadonlyMap<string, string>;
  /** Which budgets keep some from being restarted or stopped. */
  readonly kept: ReadonlyMap<string, Refusal>;
  /** Those that a place is free for, or whose restart is due. */
  readonly candidates: readonly Candidate[];
  /** Of the node and the room elsewhere. Absent: not read. */
  readonly preflight?: PreflightFacts | undefined;
  /** By UIDs of VMIs that were on the node and whose outcome is open: where they are. */
  readonly gone: ReadonlyMap<string, Whereabouts>;
  /** What is still on the node. Absent: not read. */
  readonly subjects?: readonly Subject[] | undefined;
  /** Of KubeVirt; read for one whose `startIf` waits for the end of that. */
  readonly isRollingOut?: boolean;
  /** VMs that have moved away and for which there is room again. */
  readonly returning: readonly VmiFacts[];
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

export function isDue({ spec }: NodeEvacuationFacts, now: Date): boolean {
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

/** Of those that name the node, have not ended and whose time has come: the one that has started, else the oldest. */
export function actingOf({ ne, rivals, now }: Pick<NodeWorld, "ne" | "rivals" | "now">): NodeEvacuationFacts {
  const wanted = wantedOf([ne, ...rivals], now);
  const [first = ne] = wanted.toSorted(
    (a, b) => Number(hasStarted(b)) - Number(hasStarted(a)) || a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1),
  );
  return first;
}

export function wantedOf(all: readonly NodeEvacuationFacts[], now: Date): readonly NodeEvacuationFacts[] {
  const open = all.filter((one) => !hasEnded(one) && one.spec.intent !== "Withdrawn");
  return open.filter((one) => hasStarted(one) || isDue(one, now));
}
