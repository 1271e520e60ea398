/**
 * Actions: the only things that change a cluster. Policy returns actions, `act` performs them, explain prints them, and
 * a dry run skips them.
 */
import type { EvacuationFacts, EvacuationSpec, EvacuationStatus, MigrationCause, Urgency } from "./evacuation.ts";
import type { NodeEvacuationFacts, NodeEvacuationStatus, VirtualMachineFacts } from "./node-evacuation.ts";
import type { RollingMaintenanceFacts, RollingMaintenanceStatus } from "./rolling-maintenance.ts";
import type {
  BudgetFacts,
  ConfigurationObserved,
  LauncherFacts,
  MigrationFacts,
  NamespacedName,
  PodFacts,
  VmiFacts,
} from "./facts.ts";

export type Action =
  /**
   * Makes KubeVirt set a VMI's `status.evacuationNodeName`. `forDescheduler`: KubeVirt prefers migrations of drains to
   * this VMI's migration. `launcher`: the name of the VMI's launcher pod, which Lifeboat otherwise reads.
   */
  | { readonly verb: "Mark"; readonly vmi: VmiFacts; readonly launcher?: string; readonly forDescheduler?: true }
  | { readonly verb: "Unmark"; readonly vmi: VmiFacts }
  /** Sets the label that MigrationPolicies select. If this action fails, the chain of actions continues. */
  | { readonly verb: "Label"; readonly vmi: VmiFacts; readonly urgency: Urgency }
  /** Sets or removes the label `lifeboat.dev/shield`. `optional`: the chain of actions continues after a failure. */
  | { readonly verb: "Shield"; readonly vmi: VmiFacts; readonly value?: string; readonly optional?: true }
  /**
   * Creates an Evacuation, or adds the requester to an active Evacuation of the same name. `optional`: if no Evacuation
   * can be created, the VM is marked without a label.
   */
  | { readonly verb: "CreateEvacuation"; readonly evacuation: NewEvacuation; readonly optional?: true }
  | { readonly verb: "WriteStatus"; readonly evacuation: EvacuationFacts; readonly status: EvacuationStatus }
  | { readonly verb: "DeleteEvacuation"; readonly evacuation: EvacuationFacts }
  | { readonly verb: "AddRequester"; readonly evacuation: EvacuationFacts; readonly requester: string }
  | {
      readonly verb: "CreateMigration";
      readonly vmi: VmiFacts;
      readonly name: string;
      readonly evacuation: Pick<EvacuationFacts, "name" | "spec">;
      /** Performed if KubeVirt's webhook or an admission policy permanently refuses the migration. */
      readonly ifRefused?: readonly Action[];
    }
  | { readonly verb: "DeleteMigration"; readonly migration: MigrationFacts }
  | { readonly verb: "SkipBackoff"; readonly migration: MigrationFacts }
  /** Adds Lifeboat's annotations to KubeVirt's migration. If this action fails, the chain of actions continues. */
  | {
      readonly verb: "AnnotateMigration";
      readonly migration: MigrationFacts;
      readonly cause: MigrationCause;
      readonly evacuation: string;
    }
  /**
   * Creates a budget for a VM without a budget. `missing`: the caller knows that the VM has no budget, so Lifeboat does
   * not read budgets first. The chain continues after a permanent refusal. `optional`: the chain continues after any
   * failure.
   */
  | { readonly verb: "CreateBudget"; readonly vmi: VmiFacts; readonly missing?: true; readonly optional?: true }
  /** Corrects size, selector and owner of Lifeboat's budget. The chain continues after a permanent refusal. */
  | { readonly verb: "RepairBudget"; readonly budget: BudgetFacts; readonly vmi: VmiFacts }
  | { readonly verb: "DeleteBudget"; readonly budget: BudgetFacts }
  /** Deletes a pod. `graceSeconds`: the requested grace period. Absent: the pod's own grace period. */
  | { readonly verb: "DeletePod"; readonly pod: PodFacts; readonly graceSeconds?: number | undefined }
  /** Adds and removes annotations of a pod, unless any of these annotations has changed since Lifeboat read the pod. */
  | {
      readonly verb: "AnnotatePod";
      readonly pod: LauncherFacts;
      readonly add: Readonly<Record<string, string>>;
      readonly remove: readonly string[];
    }
  /** Writes the status, unless the LifeboatConfiguration has changed. */
  | {
      readonly verb: "WriteConditions";
      readonly resourceVersion: string;
      readonly generation: number;
      readonly conditions: ConfigurationObserved["conditions"];
    }
  /** Cordons a node for the NodeEvacuation `by` (NAME/UID). `from`: the ended NodeEvacuation that held the cordon. */
  | { readonly verb: "Cordon"; readonly node: string; readonly by: string; readonly from?: string | undefined }
  /**
   * Removes the cordon and the annotation of the NodeEvacuation `by`. `stays`: removes only the annotation, and the
   * node stays cordoned until a person uncordons it.
   */
  | { readonly verb: "Uncordon"; readonly node: string; readonly by: string; readonly stays?: true }
  /** Sets or removes the taint of a node whose turn in a RollingMaintenance has not come. */
  | { readonly verb: "Steer"; readonly node: string; readonly isPending: boolean }
  | { readonly verb: "EvictPod"; readonly pod: NamespacedName & { readonly uid: string } }
  /** Makes KubeVirt restart or stop the VM, as the Evacuation says. */
  | { readonly verb: "ShutDown"; readonly e: EvacuationFacts; readonly vmi: VmiFacts }
  /** Starts a VM that Lifeboat stopped. `ifRefused`: performed if KubeVirt refuses to start the VM. */
  | { readonly verb: "StartVm"; readonly evacuation: EvacuationFacts; readonly ifRefused?: readonly Action[] }
  | {
      readonly verb: "ReturnVm";
      readonly vmi: VmiFacts;
      readonly node: string;
      readonly nodeEvacuation: NodeEvacuationFacts;
    }
  | { readonly verb: "WithdrawEvacuation"; readonly evacuation: EvacuationFacts }
  /** Writes the status, unless the object has changed. */
  | {
      readonly verb: "WriteNodeStatus";
      readonly nodeEvacuation: NodeEvacuationFacts;
      readonly status: NodeEvacuationStatus;
    }
  | { readonly verb: "DeleteNodeEvacuation"; readonly nodeEvacuation: NodeEvacuationFacts }
  | {
      readonly verb: "CreateNodeEvacuation";
      readonly rm: RollingMaintenanceFacts;
      readonly node: string;
      readonly name: string;
      readonly notAfter: string;
    }
  | {
      readonly verb: "WriteRollingStatus";
      readonly rm: RollingMaintenanceFacts;
      readonly status: RollingMaintenanceStatus;
    }
  | { readonly verb: "DeleteRollingMaintenance"; readonly rm: RollingMaintenanceFacts }
  | ({ readonly verb: "Event" } & KubernetesEvent);

/** Actions of node maintenance. */
export type NodeAction = ActionOf<(typeof NODE_VERBS)[number]>;
export const NODE_VERBS = [
  "Cordon",
  "Uncordon",
  "Steer",
  "EvictPod",
  "ShutDown",
  "StartVm",
  "ReturnVm",
  "WithdrawEvacuation",
  "WriteNodeStatus",
  "DeleteNodeEvacuation",
  "CreateNodeEvacuation",
  "WriteRollingStatus",
  "DeleteRollingMaintenance",
] as const;

export type ActionOf<Verb extends Action["verb"]> = Extract<Action, { verb: Verb }>;

export interface NewEvacuation extends NamespacedName {
  readonly spec: EvacuationSpec;
}

/**
 * Chains of actions, each performed in order up to its first conflict. `again`: another reconcile must follow at once.
 */
export interface Plan {
  readonly chains: readonly (readonly Action[])[];
  readonly again?: boolean;
}

const ALWAYS_OPTIONAL: ReadonlySet<Action["verb"]> = new Set<Action["verb"]>([
  "Event",
  "Label",
  "AnnotateMigration",
  "AddRequester",
]);

/** The plans of a reconcile, in order: urgent VMs are marked first, and budgets are created before migrations. */
export type Plans = readonly (Plan & { readonly name: string })[];

/** Returns whether the chain continues if this action fails. A failed Event or label must not stop an evacuation. */
export function isOptional(action: Action): boolean {
  return ("optional" in action && action.optional === true) || ALWAYS_OPTIONAL.has(action.verb);
}

export const EVENT_TYPES = {
  EvacuationTriggered: "Normal",
  EvacuationAdopted: "Normal",
  EvictionRefused: "Warning",
  ShutdownByStrategy: "Warning",
  MigrationCreated: "Normal",
  MigrationFailed: "Warning",
  MigrationRefused: "Warning",
  NotMigratable: "Warning",
  Evacuated: "Normal",
  EvacuationAbandoned: "Warning",
  EvacuationCancelled: "Normal",
  Restarted: "Warning",
  Stopped: "Warning",
  StartRefused: "Warning",
  ShutdownPlanned: "Warning",
  DeletionRefused: "Normal",
  DeletionAllowed: "Warning",
  DisruptionSeen: "Warning",
  DeadlineKept: "Warning",
  NodeUnderPressure: "Normal",
  Descheduled: "Normal",
  EvictionFailed: "Warning",
  InvalidConfiguration: "Warning",
  MaintenanceStarted: "Normal",
  MaintenanceBlocked: "Warning",
  MaintenanceCompleted: "Normal",
  MaintenanceRefused: "Warning",
  MaintenanceExpired: "Warning",
  MaintenanceWithdrawn: "Normal",
  MaintenanceNodeGone: "Warning",
  MaintenanceStopped: "Warning",
} as const satisfies Record<string, KubernetesEvent["type"]>;

export type EventReason = keyof typeof EVENT_TYPES;

export interface KubernetesEvent {
  readonly about: NamespacedName & {
    readonly uid: string;
    /** Kinds after `ConfigMap` are cluster-scoped: their namespace is empty. */
    readonly kind:
      | "VirtualMachineInstance"
      | "VirtualMachine"
      | "Pod"
      | "ConfigMap"
      | "ValidatingWebhookConfiguration"
      | "Node"
      | "NodeEvacuation"
      | "RollingMaintenance";
  };
  readonly type: "Normal" | "Warning";
  readonly reason: EventReason;
  readonly message: string;
  /** An Event with the same reason and occasion is sent once. */
  readonly occasion: string;
}

type RecordEvent = Extract<Action, { verb: "Event" }>;

export function recordEvent(vmi: VmiFacts, reason: EventReason, message: string, occasion: string): RecordEvent {
  return { ...about("VirtualMachineInstance", vmi), type: EVENT_TYPES[reason], reason, message, occasion };
}

export function recordVmEvent(
  { namespace, name, uid }: VirtualMachineFacts,
  reason: EventReason,
  message: string,
  occasion: string,
): RecordEvent {
  const about = { kind: "VirtualMachine", namespace, name, uid } as const;
  return { verb: "Event", about, type: EVENT_TYPES[reason], reason, message, occasion };
}

export function recordPodEvent(pod: PodFacts, reason: EventReason, message: string, occasion: string): RecordEvent {
  return { ...about("Pod", pod), type: EVENT_TYPES[reason], reason, message, occasion };
}

function about(kind: KubernetesEvent["about"]["kind"], { namespace, name, uid }: PodFacts | VmiFacts) {
  return { verb: "Event", about: { kind, namespace, name, uid } } as const;
}
