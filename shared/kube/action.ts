/** Actions: the only things that change a cluster. Policy returns them, `act` performs them, explain prints them, a dry run skips them. */
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
   * Have KubeVirt set `status.evacuationNodeName` of a VMI; `forDescheduler`: and its annotation, so that its migration lets drains go
   * first. `launcher`: the name of its pod. Absent: the pod is looked for.
   */
  | { readonly verb: "Mark"; readonly vmi: VmiFacts; readonly launcher?: string; readonly forDescheduler?: true }
  | { readonly verb: "Unmark"; readonly vmi: VmiFacts }
  /** Set the label that MigrationPolicies select. The chain continues without it. */
  | { readonly verb: "Label"; readonly vmi: VmiFacts; readonly urgency: Urgency }
  /** Set the label of the shield; without a value take it off. `optional`: the chain continues without it. */
  | { readonly verb: "Shield"; readonly vmi: VmiFacts; readonly value?: string; readonly optional?: true }
  /** One that exists and has not ended is joined. `optional`: where none can be created, the VM is marked without a label. */
  | { readonly verb: "CreateEvacuation"; readonly evacuation: NewEvacuation; readonly optional?: true }
  | { readonly verb: "WriteStatus"; readonly evacuation: EvacuationFacts; readonly status: EvacuationStatus }
  | { readonly verb: "DeleteEvacuation"; readonly evacuation: EvacuationFacts }
  /** Names one more who asks for an evacuation that is under way. */
  | { readonly verb: "AddRequester"; readonly evacuation: EvacuationFacts; readonly requester: string }
  | {
      readonly verb: "CreateMigration";
      readonly vmi: VmiFacts;
      readonly name: string;
      readonly evacuation: Pick<EvacuationFacts, "name" | "spec">;
      /** Performed if it is refused for good, by KubeVirt's admission or by a policy before it. */
      readonly ifRefused?: readonly Action[];
    }
  | { readonly verb: "DeleteMigration"; readonly migration: MigrationFacts }
  | { readonly verb: "SkipBackoff"; readonly migration: MigrationFacts }
  /** Annotate a migration of KubeVirt's as Lifeboat's own are. The chain continues without it. */
  | {
      readonly verb: "AnnotateMigration";
      readonly migration: MigrationFacts;
      readonly cause: MigrationCause;
      readonly evacuation: string;
    }
  /** Unless there is one; `missing`: none has been seen. Continues if it is refused for good; `optional`: if it fails for any reason. */
  | { readonly verb: "CreateBudget"; readonly vmi: VmiFacts; readonly missing?: true; readonly optional?: true }
  /** Give it size, selector and owner, if it is ours. The chain continues without it if it is refused for good. */
  | { readonly verb: "RepairBudget"; readonly budget: BudgetFacts; readonly vmi: VmiFacts }
  | { readonly verb: "DeleteBudget"; readonly budget: BudgetFacts }
  /** `graceSeconds`: as its deletion was asked for; absent: as long as its own grace period. */
  | { readonly verb: "DeletePod"; readonly pod: PodFacts; readonly graceSeconds?: number | undefined }
  /** Add annotations to a pod and remove others, if they are as observed. */
  | {
      readonly verb: "AnnotatePod";
      readonly pod: LauncherFacts;
      readonly add: Readonly<Record<string, string>>;
      readonly remove: readonly string[];
    }
  /** Write the status of the LifeboatConfiguration, unless it has changed since. */
  | {
      readonly verb: "WriteConditions";
      readonly resourceVersion: string;
      readonly generation: number;
      readonly conditions: ConfigurationObserved["conditions"];
    }
  /** Cordons a schedulable node. `by`: NAME/UID of a NodeEvacuation. `from`: takes over the cordon of a NodeEvacuation that has ended or is gone. */
  | { readonly verb: "Cordon"; readonly node: string; readonly by: string; readonly from?: string | undefined }
  /** If it is this one's cordon. `stays`: it is a person's from now on; a node that is schedulable only loses that name, too. */
  | { readonly verb: "Uncordon"; readonly node: string; readonly by: string; readonly stays?: true }
  /** Sets the taint of a node whose turn in a RollingMaintenance is still to come, or takes it off. */
  | { readonly verb: "Steer"; readonly node: string; readonly isPending: boolean }
  | { readonly verb: "EvictPod"; readonly pod: NamespacedName & { readonly uid: string } }
  /** Have KubeVirt restart or stop the VM, as the Evacuation says. */
  | { readonly verb: "ShutDown"; readonly e: EvacuationFacts; readonly vmi: VmiFacts }
  /** One that was stopped so. `ifRefused`: performed if KubeVirt refuses it as the VM is. */
  | { readonly verb: "StartVm"; readonly evacuation: EvacuationFacts; readonly ifRefused?: readonly Action[] }
  | {
      readonly verb: "ReturnVm";
      readonly vmi: VmiFacts;
      readonly node: string;
      readonly nodeEvacuation: NodeEvacuationFacts;
    }
  | { readonly verb: "WithdrawEvacuation"; readonly evacuation: EvacuationFacts }
  /** On condition that the NodeEvacuation is as it was seen. */
  | {
      readonly verb: "WriteNodeStatus";
      readonly nodeEvacuation: NodeEvacuationFacts;
      readonly status: NodeEvacuationStatus;
    }
  | { readonly verb: "DeleteNodeEvacuation"; readonly nodeEvacuation: NodeEvacuationFacts }
  /** A node of a RollingMaintenance whose turn has come. One that exists was created so before. */
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

/** Actions of a NodeEvacuation, besides the ones on Evacuations. */
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

/** Chains of actions, each performed in order up to its first conflict. `again`: another reconcile finds consequences at once. */
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

/** Carried out in their order: what is urgent is marked first, and budgets are created before migrations. */
export type Plans = readonly (Plan & { readonly name: string })[];

/** Whether the chain continues if this one fails: an Event or a label is not worth an evacuation. */
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
    /** Objects of the last ones have no namespace: theirs is empty. */
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
  /** An Event of the same reason and occasion is sent once. */
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
