/** Defines the facts about Kubernetes and KubeVirt objects, with only the fields that rules read. */
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
  readonly gates?: readonly string[];
  readonly disruptionTarget?: DisruptionTarget;
  readonly tolerations?: readonly Toleration[];
  readonly priority?: number;
}

export interface DisruptionTarget {
  readonly active: boolean;
  readonly reason?: string;
  /** The time of the condition's last change (RFC 3339). */
  readonly since: string;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  /** The time when the taint was added (RFC 3339). The node controller sets it only for its own taints. */
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
  /** The time at which Karpenter terminates the node, from the node's annotation. The text might not be a time. */
  readonly endsAt?: string;
  /** virt-handler's last heartbeat (RFC 3339), and whether VMs may start on the node. */
  readonly virtHandler?: { readonly isSchedulable: boolean; readonly saidAt: string };
  readonly cordonedBy?: string;
}

export interface LiveMigratable {
  readonly migratable: boolean;
  readonly reason?: string;
  readonly message?: string;
}

/** The facts about a VirtualMachineInstance. They take about 700 bytes. */
export interface VmiFacts extends NamespacedName, GuestFacts {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleting: boolean;
  readonly phase: string;
  /** The value of `spec.evictionStrategy`, which might be a strategy that Lifeboat does not know. */
  readonly evictionStrategy?: string;
  readonly nodeName?: string;
  readonly evacuationNodeName?: string;
  readonly liveMigratable: LiveMigratable;
  /** The pods in `status.activePods`, as a map from pod UID to node. It includes finished pods. */
  readonly activePods: Readonly<Record<string, string>>;
  /** Whether the guest is paused because a disk has failed. */
  readonly pausedByIoError?: true;
  readonly evictionSource?: string;
  /** Whether the guest already runs on the target node, although `nodeName` is still the source node. */
  readonly guestOnTarget?: boolean;
  /** The VMI's last migration. KubeVirt writes a failure to the VMI before it writes the failure to the migration. */
  readonly lastMigration?: { readonly uid: string; readonly failureReason?: string };
  /** The end of the VMI's last migration, in milliseconds since the epoch. The time comes from a node's clock. */
  readonly movedAt?: number;
  /** The duration of this migration. */
  readonly movedInSeconds?: number;
  readonly guestMemory?: number;
  readonly priorityClass?: string;
  /** Whether `status.migrationState` shows a migration in progress, which already has a target pod. */
  readonly isMigrating: boolean;
  readonly targetNode?: string;
  /** The path of a disk that is a file on the node. On another node, the VM would start with a different disk. */
  readonly hostDisk?: string;
  /** The backup in progress. KubeVirt starts no migration until the backup has finished. */
  readonly backup?: string;
  /**
   * Whether the VMI has utility volumes. While it has them, KubeVirt starts no migration, and a waiting migration fails
   * after some minutes.
   */
  readonly hasUtilityVolumes?: boolean;
  /**
   * `Receives` means that the guest comes from another namespace or cluster. `Sends` means that the guest leaves for
   * another namespace or cluster.
   */
  readonly decentralized?: "Sends" | "Receives";
  /** Whether the owner forbids migrations that slow down or pause the guest. */
  readonly isGentle?: boolean;
  readonly evacuationLabel?: string;
  readonly shield?: string;
  readonly graceSeconds?: number;
  /** Whether the VMI has labels. A JSON patch cannot add a key to a missing map. */
  readonly hasLabels: boolean;
  readonly hasAnnotations: boolean;
}

export interface MigrationFacts extends NamespacedName {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly vmiName: string;
  /** Whether the migration moves the guest to (`Sends`) or from (`Receives`) another namespace or cluster. */
  readonly decentralized?: "Sends" | "Receives";
  readonly phase: string;
  readonly deleting: boolean;
  /** The creation time by the API server's clock in milliseconds since the epoch, or 0 if unknown. */
  readonly createdAt: number;
  readonly failedAt?: number;
  readonly schedulingSince?: number;
  /** The seconds from the creation of the target pod to the end of a successful migration. */
  readonly tookSeconds?: number;
  /** The node that KubeVirt's evacuation controller evacuates with this migration. */
  readonly evacuates?: string;
  /** Lifeboat's annotation with the reason why the VM has to move. */
  readonly cause?: string;
  /**
   * True for an evacuation by KubeVirt's evacuation controller, and for a workload update. KubeVirt delays such a
   * migration after a failure.
   */
  readonly automatic?: true;
  readonly skipsBackoff?: true;
  readonly sourceNode?: string;
  readonly targetNode?: string;
  /** The target pod. Absent while the migration waits in KubeVirt's queue. */
  readonly targetPod?: string;
  readonly failureReason?: string;
  /** The condition that prevents the migration's start, for example a quota or a backup. */
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
  /** If absent, the PodDisruptionBudget selects nothing (policy/v1). */
  readonly selector?: LabelSelector;
  readonly unhealthyPodEvictionPolicy?: string;
  readonly status: {
    readonly observedGeneration: number;
    readonly disruptionsAllowed: number;
    readonly currentHealthy: number;
    readonly desiredHealthy: number;
  };
}

/** A launcher pod with only the fields that are needed to annotate it. */
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
  /**
   * The URL, or the path if the API server calls a Service. Never log this text, because it contains the webhook token.
   */
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
