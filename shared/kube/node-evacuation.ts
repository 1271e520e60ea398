/** Defines the NodeEvacuation: which node to drain, when and how. */
import type { NextStart } from "./guest.ts";
import type { NamespacedName } from "./facts.ts";
import type { NodeSpecRead, NodeStatusRead } from "./schemas/maintenance.ts";

export const NODE_ACTIVE_PHASES = ["Scheduled", "Evacuating", "Paused", "Blocked"] as const;
export const NODE_END_PHASES = ["Evacuated", "Refused", "Expired", "Withdrawn", "Gone"] as const;

export type NodeEvacuationPhase = (typeof NODE_ACTIVE_PHASES)[number] | (typeof NODE_END_PHASES)[number];

export const WHEN_BLOCKED = ["Wait", "ShutDown", "Restart"] as const;
export type WhenBlocked = (typeof WHEN_BLOCKED)[number];

export const VM_ORDERS = ["ByPriority", "SmallestFirst", "LargestFirst"] as const;

/** The facts about a VirtualMachine: whether KubeVirt can restart it, and the owner's settings for maintenance. */
export interface VirtualMachineFacts extends NamespacedName {
  readonly uid: string;
  readonly runStrategy: string;
  /** Whether KubeVirt has accepted a start, stop or restart that virt-controller has not performed yet. */
  readonly isChanging: boolean;
  /** The time before which the owner allows no maintenance of the VM (RFC 3339). */
  readonly notBefore?: string | undefined;
  readonly whenBlocked?: WhenBlocked | undefined;
  readonly start?: NextStart | undefined;
}

/** Makes a parsed type read-only. If a field can be undefined, the field becomes optional. */
type Read<T> = T extends readonly (infer Item)[]
  ? readonly Read<Item>[]
  : T extends object
    ? { readonly [K in keyof T as undefined extends T[K] ? never : K]: Read<T[K]> } & {
        readonly [K in keyof T as undefined extends T[K] ? K : never]?: Read<T[K]>;
      }
    : T;

export type NodeEvacuationSpec = Read<Omit<NodeSpecRead, "afterwards">> & Read<NodeSpecRead["afterwards"]>;

export const OUTCOMES = ["Moved", "Restarted", "ShutDown", "Stopped", "Abandoned", "LeftBehind"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export type VmCounts = NonNullable<NodeEvacuationStatus["virtualMachines"]>;
export type NodeBlocker = NodeEvacuationStatus["blockers"][number];
/** The outcome for a VM that was on the node at any time since the NodeEvacuation started. */
export type VmOutcome = NodeEvacuationStatus["outcomes"][number];

/**
 * `DrainInProgress` and `Drained` are defined by KEP-5683. `Returned` means that the node is uncordoned and Lifeboat
 * has requested the return of the VMs.
 */
export const NODE_CONDITIONS = ["DrainInProgress", "Drained", "Blocked", "Returned"] as const;

export interface NodeCondition {
  readonly type: (typeof NODE_CONDITIONS)[number];
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

export type NodeEvacuationStatus = Read<Omit<NodeStatusRead, "conditions">> & {
  readonly conditions: readonly NodeCondition[];
};

/** The maximum length of each text or list that Lifeboat writes. */
export const NODE_EVACUATION_BOUNDS = {
  "status.message": 2048,
  "status.conditions": NODE_CONDITIONS.length,
  "status.conditions[].message": 2048,
  "status.blockers": 20,
  "status.blockers[].message": 1024,
  "status.outcomes": 500,
} as const;

export interface NodeEvacuationFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The creation time in milliseconds since the epoch. */
  readonly createdAt: number;
  /**
   * Whether `lifeboat drain` or a RollingMaintenance created the object. Lifeboat deletes only such objects after their
   * end, because a GitOps tool would create other objects again.
   */
  readonly isCommands: boolean;
  /** The RollingMaintenance. If it cannot be parsed, `unreadable` says why: `name: what is wrong`. */
  readonly owner?: { readonly name: string; readonly uid: string; readonly unreadable?: string } | undefined;
  readonly spec: NodeEvacuationSpec;
  readonly status: NodeEvacuationStatus;
}

export function hasEnded({ status: { phase } }: Pick<NodeEvacuationFacts, "status">): boolean {
  return hasEndPhase(phase);
}

export function hasEndPhase(phase: string | undefined): boolean {
  return phase !== undefined && (NODE_END_PHASES as readonly string[]).includes(phase);
}

function isReturned({ conditions }: NodeEvacuationStatus): boolean {
  return conditions.some(({ type, status }) => type === "Returned" && status === "True");
}

/** Returns whether a reconcile still has to act, for example to return or start VMs after the node is uncordoned. */
export function isOpen({ status }: Pick<NodeEvacuationFacts, "status">): boolean {
  return !hasEnded({ status }) || isUnsettled(status) || (status.phase === "Evacuated" && !isReturned(status));
}

export function isUnsettled({ outcomes }: NodeEvacuationStatus): boolean {
  return outcomes.some(({ outcome }) => outcome === undefined);
}
