/** The narrow views of Kubernetes and KubeVirt objects on which policy decides: only the fields that some rule reads. */
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
  /** Why the scheduler finds no node for it, if so, and since when (RFC 3339, by its clock). */
  readonly unschedulable?: { readonly message: string; readonly since: string };
  /** Scheduling gates that it still has. */
  readonly gates?: readonly string[];
  readonly disruptionTarget?: DisruptionTarget;
  readonly tolerations?: readonly Toleration[];
  readonly priority?: number;
}

export interface DisruptionTarget {
  readonly active: boolean;
  readonly reason?: string;
  /** RFC 3339, by a clock of the control plane: when it last became what it is. */
  readonly since: string;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  /** RFC 3339. The node controller says it of its own, that of a cordon included. */
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
  /** As its annotation says: when it is ended. May be no time at all. */
  readonly endsAt?: string;
  /** The last report of its virt-handler: whether VMs may start on the node, and the time of the report (RFC 3339). */
  readonly virtHandler?: { readonly isSchedulable: boolean; readonly saidAt: string };
  /** The NodeEvacuation whose cordon it has, by its annotation. */
  readonly cordonedBy?: string;
}

export interface LiveMigratable {
  readonly migratable: boolean;
  readonly reason?: string;
  readonly message?: string;
}

/** A VirtualMachineInstance. About 700 bytes each, so that ten thousand fit easily into a Worker. */
export interface VmiFacts extends NamespacedName, GuestFacts {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleting: boolean;
  readonly phase: string;
  /** As written in `spec.evictionStrategy`: may be an unknown value. */
  readonly evictionStrategy?: string;
  readonly nodeName?: string;
  readonly evacuationNodeName?: string;
  readonly liveMigratable: LiveMigratable;
  /** `status.activePods`: pod UID to node, of every pod that KubeVirt counts as this VMI's own, finished ones included. */
  readonly activePods: Readonly<Record<string, string>>;
  /** By its condition `Paused`: a disk has failed, and the guest stands still. */
  readonly pausedByIoError?: true;
  readonly evictionSource?: string;
  /** The guest has gone over to the target of its migration, though `nodeName` does not say so yet. */
  readonly guestOnTarget?: boolean;
  /** Its last migration. KubeVirt writes a failure here, and copies it to the migration some moments later. */
  readonly lastMigration?: { readonly uid: string; readonly failureReason?: string };
  /** When its last migration to another node succeeded (milliseconds since the epoch, by a node's clock), and how long that took. */
  readonly movedAt?: number;
  readonly movedInSeconds?: number;
  readonly guestMemory?: number;
  readonly priorityClass?: string;
  /** KubeVirt's labels say that it is being handed over to a target pod, by a migration that has not ended. */
  readonly isMigrating: boolean;
  /** The target of its migration in progress, once KubeVirt has found one. */
  readonly targetNode?: string;
  /** Its backup in progress. KubeVirt begins no migration until it has ended. */
  readonly backup?: string;
  /** Likewise; after some minutes KubeVirt gives the migration up. */
  readonly hasUtilityVolumes?: boolean;
  /** Its guest comes from a VMI of another namespace or cluster (until it is there), or goes to one. */
  readonly decentralized?: "Sends" | "Receives";
  /** Its owner wants no migration to slow its guest down or to pause it. */
  readonly isGentle?: boolean;
  readonly evacuationLabel?: string;
  /** Label `lifeboat.dev/shield`; and how long the guest may take to shut down. */
  readonly shield?: string;
  readonly graceSeconds?: number;
  /** Whether the maps exist at all: JSON patch cannot add below a missing one. */
  readonly hasLabels: boolean;
  readonly hasAnnotations: boolean;
}

export interface MigrationFacts extends NamespacedName {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly vmiName: string;
  /** From one VMI to another one of another namespace or cluster: its end at this VMI. */
  readonly decentralized?: "Sends" | "Receives";
  readonly phase: string;
  readonly deleting: boolean;
  /** Milliseconds since the epoch, by the API server's clock (0 if it does not say), and by virt-controller's. */
  readonly createdAt: number;
  readonly failedAt?: number;
  readonly schedulingSince?: number;
  /** For a successful migration: how long it had a place in KubeVirt's queue, from its target pod on. */
  readonly tookSeconds?: number;
  /** The node that it evacuates (annotation): only KubeVirt's evacuation controller sets it. */
  readonly evacuates?: string;
  /** Lifeboat's annotation: why the VM has to leave. */
  readonly cause?: string;
  /** An evacuation or a workload update: KubeVirt's back-off counts its failure, and delays it unless it skips that. */
  readonly automatic?: true;
  readonly skipsBackoff?: true;
  readonly sourceNode?: string;
  readonly targetNode?: string;
  /** Absent as long as it waits in KubeVirt's queue. */
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
  /** Absent: selects nothing (policy/v1). */
  readonly selector?: LabelSelector;
  readonly unhealthyPodEvictionPolicy?: string;
  readonly status: {
    readonly observedGeneration: number;
    readonly disruptionsAllowed: number;
    readonly currentHealthy: number;
    readonly desiredHealthy: number;
  };
}

/** A launcher pod, as small as annotating it takes: there is one for each VMI, and for a while two. */
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
  /** The URL; for a Service, its path. It holds the webhook token: never log it. */
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
