/** A `NodeEvacuation`: a node has to be empty, at that time, in this way. */
import type { NextStart } from "./guest.ts";
import type { NamespacedName } from "./facts.ts";

export const NODE_ACTIVE_PHASES = ["Scheduled", "Evacuating", "Paused", "Blocked"] as const;
export const NODE_END_PHASES = ["Evacuated", "Refused", "Expired", "Withdrawn", "Gone"] as const;

export type NodeEvacuationPhase = (typeof NODE_ACTIVE_PHASES)[number] | (typeof NODE_END_PHASES)[number];

export const WHEN_BLOCKED = ["Wait", "ShutDown", "Restart"] as const;
export type WhenBlocked = (typeof WHEN_BLOCKED)[number];

export const ORDERS = ["ByPriority", "SmallestFirst", "LargestFirst"] as const;

/** Facts of a VirtualMachine: whether and how KubeVirt may restart it, and its owner's wishes for maintenance. */
export interface VirtualMachineFacts extends NamespacedName {
  readonly uid: string;
  readonly runStrategy: string;
  /** KubeVirt has accepted a start, a stop or a restart, and virt-controller has not acted on it yet. */
  readonly isChanging: boolean;
  /** RFC 3339. */
  readonly notBefore?: string | undefined;
  readonly whenBlocked?: WhenBlocked | undefined;
  readonly start?: NextStart | undefined;
}

/** Times are RFC 3339. */
export interface NodeEvacuationSpec {
  readonly nodeName: string;
  readonly intent: "Evacuate" | "Withdrawn";
  readonly progress: "Running" | "Paused";
  readonly schedule: {
    readonly notBefore?: string | undefined;
    readonly notAfter?: string | undefined;
    /** The name of another one. */
    readonly after?: string | undefined;
  };
  readonly startIf: "Always" | "WillSucceed" | "WillSucceedWithShutdowns";
  readonly virtualMachines: {
    readonly order: (typeof ORDERS)[number];
    readonly concurrency?: number | undefined;
    readonly whenBlocked: WhenBlocked;
    readonly whenAttemptsFail: "Wait" | "Restart";
    readonly ownersChoice: "Respected" | "Ignored";
  };
  /** Guests end although something else blocks the node. */
  readonly forceShutdowns: boolean;
  readonly otherPods: "Evict" | "EvictWithLocalData" | "Leave";
  readonly returnVMs: "Never" | "WhenUncordoned";
}

/** What became of a VM of the node. */
export const OUTCOMES = ["Moved", "Restarted", "ShutDown", "Stopped", "Abandoned", "LeftBehind"] as const;
export type Outcome = (typeof OUTCOMES)[number];

type Count = "total" | "left" | "moving" | "waiting" | "blocked" | Uncapitalize<Outcome>;
export type VmCounts = Readonly<Record<Count, number>>;

export interface NodeBlocker {
  readonly namespace: string;
  readonly name: string;
  /** UID of the VMI or the pod. Lifeboat judges a recreated VMI or pod anew. */
  readonly uid?: string | undefined;
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
  readonly whoCanFix?: string | undefined;
  readonly since?: string | undefined;
}

/** A VM that was on the node since it started. */
export interface VmOutcome extends NamespacedName {
  /** UID of the VMI. */
  readonly uid: string;
  /** Absent: that is open. */
  readonly outcome?: Outcome | undefined;
  /** CamelCase. */
  readonly reason?: string | undefined;
  readonly targetNode?: string | undefined;
  /** When Lifeboat began with it. */
  readonly startTime?: string | undefined;
  readonly time?: string | undefined;
}

/** In the words of KEP-5683. `Returned`: it is uncordoned, and VMs that were to return or to start have been asked to. */
export const NODE_CONDITIONS = ["DrainInProgress", "Drained", "Blocked", "Returned"] as const;

export interface NodeCondition {
  readonly type: (typeof NODE_CONDITIONS)[number];
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

export interface NodeEvacuationStatus {
  readonly phase?: NodeEvacuationPhase | undefined;
  readonly message?: string | undefined;
  readonly verdict?: string | undefined;
  /** When the node was cordoned for it. Absent: it has not started. */
  readonly startTime?: string | undefined;
  readonly estimatedCompletionTime?: string | undefined;
  readonly completionTime?: string | undefined;
  readonly lastUpdateTime?: string | undefined;
  readonly virtualMachines?: VmCounts | undefined;
  readonly blockers: readonly NodeBlocker[];
  readonly outcomes: readonly VmOutcome[];
  readonly conditions: readonly NodeCondition[];
}

/** The longest texts and lists that Lifeboat writes. The definition allows them. */
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
  /** Milliseconds since the epoch, by the API server's clock. */
  readonly createdAt: number;
  /** The command has created it: Lifeboat deletes it some time after its end. One that was applied would be applied again. */
  readonly isCommands: boolean;
  /** The RollingMaintenance that it is part of. */
  readonly owner?: { readonly name: string; readonly uid: string } | undefined;
  readonly spec: NodeEvacuationSpec;
  readonly status: NodeEvacuationStatus;
}

export function hasEnded({ status: { phase } }: Pick<NodeEvacuationFacts, "status">): boolean {
  return phase !== undefined && (NODE_END_PHASES as readonly string[]).includes(phase);
}

function isReturned({ conditions }: NodeEvacuationStatus): boolean {
  return conditions.some(({ type, status }) => type === "Returned" && status === "True");
}

/** Whether a reconcile has anything to do for it: once the node is uncordoned, VMs may return to it, or start again. */
export function isOpen({ status }: Pick<NodeEvacuationFacts, "status">): boolean {
  return !hasEnded({ status }) || isUnsettled(status) || (status.phase === "Evacuated" && !isReturned(status));
}

/** Whether it is not known yet what became of some VM. */
export function isUnsettled({ outcomes }: NodeEvacuationStatus): boolean {
  return outcomes.some(({ outcome }) => outcome === undefined);
}
