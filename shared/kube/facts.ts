/** The narrow views of Kubernetes and KubeVirt objects: only the fields that some rule reads. */
import type { GuestFacts } from "./guest.ts";

export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

export interface OwnerReference {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller: boolean;
}

export interface PodFacts extends NamespacedName {
  readonly uid: string;
  readonly phase: string;
  readonly nodeName?: string;
  readonly ready: boolean;
  readonly deleting: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly owners: readonly OwnerReference[];
  /** Why the scheduler finds no node for the pod, and since when (RFC 3339). */
  readonly unschedulable?: { readonly message: string; readonly since: string };
  /** The scheduling gates that the pod still has. */
  readonly gates?: readonly string[];
  readonly disruptionTarget?: DisruptionTarget;
  readonly tolerations?: readonly Toleration[];
  readonly priority?: number;
}

export interface DisruptionTarget {
  readonly active: boolean;
  readonly reason?: string;
  /** When the condition last changed (RFC 3339). */
  readonly since: string;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  /**
   * When the taint was added (RFC 3339). The node controller sets this time for its own taints, including the taint of
   * a cordon.
   */
  readonly timeAdded?: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

export interface NodeFacts {
  readonly name: string;
  readonly ready: boolean;
  readonly unschedulable: boolean;
  readonly taints: readonly Taint[];
  readonly pressures: readonly string[];
  /** When Karpenter terminates the node, by its annotation. The text may be an invalid time. */
  readonly endsAt?: string;
  /** The virt-handler heartbeat of the node: its time (RFC 3339), and whether VMs may start on the node. */
  readonly virtHandler?: { readonly isSchedulable: boolean; readonly saidAt: string };
  /** The NodeEvacuation that cordoned the node, by its annotation. */
  readonly cordonedBy?: string;
}

export interface LiveMigratable {
  readonly migratable: boolean;
  readonly reason?: string;
  readonly message?: string;
}

/** A VirtualMachineInstance, in about 700 bytes: a Worker can hold ten thousand. */
export interface VmiFacts extends NamespacedName, GuestFacts {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleting: boolean;
  readonly phase: string;
  /** `spec.evictionStrategy` as written: it may be an unknown value. */
  readonly evictionStrategy?: string;
  readonly nodeName?: string;
  readonly evacuationNodeName?: string;
  readonly liveMigratable: LiveMigratable;
  /**
   * `status.activePods`: pod UID to node, for every pod that KubeVirt lists as the VMI's own, including finished pods.
   */
  readonly activePods: Readonly<Record<string, string>>;
  /** The VMI's condition `Paused` says that a disk has failed and the guest is paused. */
  readonly pausedByIoError?: true;
  readonly evictionSource?: string;
  /** The guest runs on the target of its migration, though `nodeName` still names the source. */
  readonly guestOnTarget?: boolean;
  /** The VMI's last migration. KubeVirt writes a failure here, and copies it to the migration moments later. */
  readonly lastMigration?: { readonly uid: string; readonly failureReason?: string };
  /**
   * When the VMI last migrated to another node (milliseconds since the epoch, by a node's clock), and how long that
   * took.
   */
  readonly movedAt?: number;
  readonly movedInSeconds?: number;
  readonly guestMemory?: number;
  readonly priorityClass?: string;
  /** KubeVirt's labels say that an unfinished migration hands the guest over to a target pod. */
  readonly isMigrating: boolean;
  /** The target node of the migration in progress, once it is known. */
  readonly targetNode?: string;
  /** The path of a disk that is a file of its node. On another node the VM would start with a different disk. */
  readonly hostDisk?: string;
  /** The backup in progress. KubeVirt starts no migration before the backup ends. */
  readonly backup?: string;
  /** With utility volumes, KubeVirt starts no migration, and a waiting migration fails after some minutes. */
  readonly hasUtilityVolumes?: boolean;
  /**
   * `Receives`: the guest comes from another namespace or cluster. `Sends`: the guest moves to another namespace or
   * cluster.
   */
  readonly decentralized?: "Sends" | "Receives";
  /** The owner forbids migrations that slow or pause the guest. */
  readonly isGentle?: boolean;
  readonly evacuationLabel?: string;
  /** The value of the VMI's label `lifeboat.dev/shield`. */
  readonly shield?: string;
  readonly graceSeconds?: number;
  /** Whether the maps exist: a JSON patch cannot add a key to a missing map. */
  readonly hasLabels: boolean;
  readonly hasAnnotations: boolean;
}

export interface MigrationFacts extends NamespacedName {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly vmiName: string;
  /** This VMI's role in a migration to a VMI of another namespace or cluster. */
  readonly decentralized?: "Sends" | "Receives";
  readonly phase: string;
  readonly deleting: boolean;
  /** When the migration was created, in milliseconds since the epoch by the API server's clock, or 0 if unknown. */
  readonly createdAt: number;
  readonly failedAt?: number;
  readonly schedulingSince?: number;
  /** For a successful migration: the seconds from the creation of its target pod to its end. */
  readonly tookSeconds?: number;
  /** The node that the migration evacuates. Only KubeVirt's evacuation controller sets this annotation. */
  readonly evacuates?: string;
  /** Lifeboat's annotation: why the VM has to leave. */
  readonly cause?: string;
  /** True for an evacuation or a workload update. After a failure, KubeVirt delays the next such migration. */
  readonly automatic?: true;
  readonly skipsBackoff?: true;
  readonly sourceNode?: string;
  readonly targetNode?: string;
  /** The target pod. Absent while the migration waits in KubeVirt's queue. */
  readonly targetPod?: string;
  readonly failureReason?: string;
  /** The condition that prevents progress: a quota, a backup, a utility volume, the other end of a decentralized migration. */
  readonly blockedBy?: { readonly type: string; readonly reason?: string; readonly message?: string };
}

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

export interface LabelSelector {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly LabelSelectorRequirement[];
}

export interface BudgetFacts extends NamespacedName {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly deleting: boolean;
  readonly managedByUs: boolean;
  readonly owners: readonly OwnerReference[];
  readonly minAvailable?: number | string;
  /** The selector. Absent: the budget selects nothing (policy/v1). */
  readonly selector?: LabelSelector;
  readonly unhealthyPodEvictionPolicy?: string;
  readonly status: {
    readonly observedGeneration: number;
    readonly disruptionsAllowed: number;
    readonly currentHealthy: number;
    readonly desiredHealthy: number;
  };
}

/** A launcher pod with only the fields that decide its annotations. */
export interface LauncherFacts extends NamespacedName {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly hasAnnotations: boolean;
  /** The annotations that Lifeboat sets. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly vmiUID: string;
  readonly phase: string;
  readonly nodeName?: string;
  readonly deleting: boolean;
  readonly createdAt: number;
}

export interface Condition {
  readonly type:
    "Valid" | "Permitted" | "CredentialsValid" | "WebhookCalled" | "ReviewsDecided" | "CertificateValid" | "GuardHolds";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

export interface ConfigurationObserved {
  readonly resourceVersion: string;
  readonly generation: number;
  readonly conditions: readonly (Pick<Condition, "reason" | "message" | "lastTransitionTime"> & {
    readonly type: string;
    readonly status: string;
    readonly observedGeneration: number;
  })[];
}

export interface InstalledWebhook {
  readonly name: string;
  /** The URL, or the path if the API server calls a Service. Never log this text: it contains the webhook token. */
  readonly url: string | undefined;
  readonly caBundle: string | undefined;
  readonly rules: readonly WebhookRule[];
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
  readonly selectors: readonly string[];
  readonly failurePolicy: string;
}

export interface WebhookRule {
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

export interface InstalledWebhooks {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly webhooks: readonly InstalledWebhook[];
}
