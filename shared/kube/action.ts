/**
 * Defines the actions, which are the only way to change a cluster. Rules return actions, the code in shared/act
 * performs them, `lifeboat explain` prints them, and a dry run skips them.
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
   * Makes KubeVirt set the VMI's `status.evacuationNodeName`. If `forDescheduler` is set, KubeVirt gives the VMI's
   * migration a lower priority than migrations for a drain. `launcher` is the name of the VMI's launcher pod. If
   * `launcher` is absent, Lifeboat finds the name.
   */
  | { readonly verb: "Mark"; readonly vmi: VmiFacts; readonly launcher?: string; readonly forDescheduler?: true }
  | { readonly verb: "Unmark"; readonly vmi: VmiFacts }
  /** Sets the label by which a MigrationPolicy selects the VMI. If this fails, the next actions are still performed. */
  | { readonly verb: "Label"; readonly vmi: VmiFacts; readonly urgency: Urgency }
  /** Sets or removes the label `lifeboat.dev/shield`. */
  | { readonly verb: "Shield"; readonly vmi: VmiFacts; readonly value?: string; readonly optional?: true }
  /** Creates an Evacuation, or adds the requester to an active Evacuation of the same name. */
  | { readonly verb: "CreateEvacuation"; readonly evacuation: NewEvacuation; readonly optional?: true }
  | { readonly verb: "WriteStatus"; readonly evacuation: EvacuationFacts; readonly status: EvacuationStatus }
  | { readonly verb: "DeleteEvacuation"; readonly evacuation: EvacuationFacts }
  | { readonly verb: "AddRequester"; readonly evacuation: EvacuationFacts; readonly requester: string }
  | {
      readonly verb: "CreateMigration";
      readonly vmi: VmiFacts;
      readonly name: string;
      readonly evacuation: Pick<EvacuationFacts, "name" | "spec">;
      /** Actions to perform if KubeVirt's webhook or an admission policy permanently refuses the migration. */
      readonly ifRefused?: readonly Action[];
    }
  | { readonly verb: "DeleteMigration"; readonly migration: MigrationFacts }
  | { readonly verb: "SkipBackoff"; readonly migration: MigrationFacts }
  /** Adds Lifeboat's annotations to a migration that KubeVirt created. */
  | {
      readonly verb: "AnnotateMigration";
      readonly migration: MigrationFacts;
      readonly cause: MigrationCause;
      readonly evacuation: string;
    }
  /**
   * Creates a PodDisruptionBudget for a VM. If `missing` is set, does not check whether the VM already has a budget.
   * If the API server permanently refuses the budget, Lifeboat still performs the next actions. If `optional` is set,
   * Lifeboat performs them after any error.
   */
  | { readonly verb: "CreateBudget"; readonly vmi: VmiFacts; readonly missing?: true; readonly optional?: true }
  /** Corrects minAvailable, selector and owner of Lifeboat's budget. After a permanent refusal, the chain continues. */
  | { readonly verb: "RepairBudget"; readonly budget: BudgetFacts; readonly vmi: VmiFacts }
  | { readonly verb: "DeleteBudget"; readonly budget: BudgetFacts }
  /** Deletes a pod. If `graceSeconds` is absent, the pod's own grace period applies. */
  | { readonly verb: "DeletePod"; readonly pod: PodFacts; readonly graceSeconds?: number | undefined }
  /** Changes annotations of a pod. Fails if one of these annotations has changed since the pod was read. */
  | {
      readonly verb: "AnnotatePod";
      readonly pod: LauncherFacts;
      readonly add: Readonly<Record<string, string>>;
      readonly remove: readonly string[];
    }
  /** Writes the status of the LifeboatConfiguration. Fails if the object has changed since it was read. */
  | {
      readonly verb: "WriteConditions";
      readonly resourceVersion: string;
      readonly generation: number;
      readonly conditions: ConfigurationObserved["conditions"];
    }
  /** Cordons a node for NodeEvacuation `by` (NAME/UID), or takes over the cordon of the ended NodeEvacuation `from`. */
  | { readonly verb: "Cordon"; readonly node: string; readonly by: string; readonly from?: string | undefined }
  /** Uncordons the node and removes the cordoned-by annotation. If `stays` is set, removes only the annotation. */
  | { readonly verb: "Uncordon"; readonly node: string; readonly by: string; readonly stays?: true }
  /** Sets or removes the taint of a node that a RollingMaintenance will drain later. */
  | { readonly verb: "Steer"; readonly node: string; readonly isPending: boolean }
  | { readonly verb: "EvictPod"; readonly pod: NamespacedName & { readonly uid: string } }
  /** Makes KubeVirt restart or stop the VM. */
  | { readonly verb: "ShutDown"; readonly e: EvacuationFacts; readonly vmi: VmiFacts }
  /** Starts a VM that Lifeboat stopped. If KubeVirt refuses, `ifRefused` is performed. */
  | { readonly verb: "StartVm"; readonly evacuation: EvacuationFacts; readonly ifRefused?: readonly Action[] }
  | {
      readonly verb: "ReturnVm";
      readonly vmi: VmiFacts;
      readonly node: string;
      readonly nodeEvacuation: NodeEvacuationFacts;
    }
  | { readonly verb: "WithdrawEvacuation"; readonly evacuation: EvacuationFacts }
  /** Writes the status. Fails if the NodeEvacuation has changed since it was read. */
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
 * Contains chains of actions. The actions of a chain are performed in order. A conflict or an error ends the chain,
 * unless the action is optional. If the API server permanently refuses a PodDisruptionBudget, the chain continues. If
 * `again` is set, another reconcile follows at once.
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

/**
 * The plans of a reconcile, in the order in which they are performed. Urgent VMs come first, and budgets are created
 * before migrations.
 */
export type Plans = readonly (Plan & { readonly name: string })[];

/**
 * Returns whether the next actions are performed even if this action fails. A failed Event or label must not stop an
 * evacuation.
 */
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
    /** The namespace is empty for the cluster-scoped kinds, which are listed after `ConfigMap`. */
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
  /** Identifies the occasion, such as one attempt. Lifeboat creates one Event for each object, reason and occasion. */
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
