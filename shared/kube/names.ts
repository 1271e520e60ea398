/**
 * Names in the API: labels, annotations and object names of Kubernetes, KubeVirt and Lifeboat that policy reads or
 * writes.
 */

export const COMPONENT_LABEL = "kubevirt.io";
export const LAUNCHER_COMPONENT = "virt-launcher";
export const HOTPLUG_COMPONENT = "hotplug-disk";

/** On a launcher pod: the UID of its VirtualMachineInstance (label) and the VMI's name (annotation). */
export const CREATED_BY_LABEL = "kubevirt.io/created-by";
/** On a migration's target pod, also after the migration: the UID of the migration. */
export const MIGRATION_JOB_LABEL = "kubevirt.io/migrationJobUID";
export const DOMAIN_ANNOTATION = "kubevirt.io/domain";

/**
 * On a migration: the node that the migration evacuates. Only KubeVirt's evacuation controller may set this annotation,
 * because it counts the annotated migrations.
 */
export const EVACUATION_MIGRATION_ANNOTATION = "kubevirt.io/evacuationMigration";
/** On a migration: KubeVirt's workload updater created it. */
export const WORKLOAD_UPDATE_ANNOTATION = "kubevirt.io/workloadUpdateMigration";
/**
 * On a migration: makes virt-controller start the migration without a back-off. Nothing else shortens the back-off.
 * KubeVirt introduced the annotation for its own tests.
 */
export const SKIP_BACKOFF_ANNOTATION = "kubevirt.io/func-test-ignore-migration-backoff";
/** On a VMI: the source of its eviction. KubeVirt's webhook sets this annotation; `descheduler` is the only value. */
export const EVICTION_SOURCE_ANNOTATION = "kubevirt.io/eviction-source";
export const NODE_NAME_LABEL = "kubevirt.io/nodeName";
/** On a migration, set by KubeVirt's mutating webhook. */
export const VMI_NAME_LABEL = "kubevirt.io/vmi-name";
/** On a VMI that receives its guest from another namespace or cluster, until the guest has arrived. */
export const RECEIVER_ANNOTATION = "kubevirt.io/create-migration-target";
/** Condition of a migration: a quota refuses its target pod. KubeVirt writes neither a reason nor a message with it. */
export const OVER_QUOTA = "migrationRejectedByResourceQuota";
/** On a VMI, from the hand-over to its target pod until the migration has ended: the name of the target node. */
export const TARGET_NODE_LABEL = "kubevirt.io/migrationTargetNodeName";

/** On an Eviction: its sender. The descheduler sets this annotation. */
export const REQUESTED_BY_ANNOTATION = "requested-by";
export const DESCHEDULER = "sigs.k8s.io/descheduler";

/** On a VMI (label or annotation): no migration may slow or pause its guest to converge. */
export const CONVERGENCE = "lifeboat.dev/convergence";
export const GENTLE = "gentle";
/**
 * On a VMI whose evacuation is urgent, or is about to make its last attempt. The shipped MigrationPolicy selects VMIs
 * by this label.
 */
export const EVACUATION_LABEL = "lifeboat.dev/evacuation";

/**
 * On a VMI that the shield covers: the time at which Lifeboat reads the Events of refused shutdowns (seconds since the
 * epoch).
 */
export const SHIELD_LABEL = "lifeboat.dev/shield";

export const SHIELD_PLUGIN = "lifeboat-shield";
export const PLUGINS_GATE = "Plugins";

/**
 * `spec.requestedBy` of an Evacuation for a VMI whose `evacuationNodeName` KubeVirt set without Lifeboat. The next
 * request replaces this value with the name of the requesting user.
 */
export const FOUND_MARKED = "KubeVirt";

/** On a migration for an evacuation: two annotations, with the cause and with the name of the `Evacuation`. */
export const CAUSE_ANNOTATION = "lifeboat.dev/cause";
export const EVACUATION_ANNOTATION = "lifeboat.dev/evacuation";

export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
export const MANAGED_BY = "lifeboat";
export const NAME_PREFIX = "lifeboat-";

/**
 * On a launcher pod, for the descheduler: only request an eviction and do not wait for the pod's end (presence counts).
 */
export const REQUEST_EVICT_ONLY_ANNOTATION = "descheduler.alpha.kubernetes.io/request-evict-only";
/** On the pod that a guest is leaving: an evacuation is in progress (presence counts; KubeVirt writes `"true"`). */
export const EVICTION_IN_PROGRESS_ANNOTATION = "descheduler.alpha.kubernetes.io/eviction-in-progress";
/**
 * On any pod, for the descheduler. `evict`: the pod may be evicted although a filter protects it. `prefer-no-eviction`:
 * the pod should not be evicted if there is a choice.
 */
export const EVICT_ANNOTATION = "descheduler.alpha.kubernetes.io/evict";
export const PREFER_NO_EVICTION_ANNOTATION = "descheduler.alpha.kubernetes.io/prefer-no-eviction";
/** On static pods: the annotation of the mirror pod, and the annotation with the source of the manifest. */
export const MIRROR_POD_ANNOTATION = "kubernetes.io/config.mirror";
export const CONFIG_SOURCE_ANNOTATION = "kubernetes.io/config.source";
export const CONFIG_SOURCE_API = "api";
export const REASON_ANNOTATION = "reason";

/** On a node: when Karpenter terminates it (RFC 3339). */
export const TERMINATION_ANNOTATION = "karpenter.sh/nodeclaim-termination-timestamp";

/**
 * Annotation and label of a node: the last heartbeat of its virt-handler, and whether KubeVirt may start VMs on the
 * node. A terminating virt-handler sets false.
 */
export const HEARTBEAT_ANNOTATION = "kubevirt.io/heartbeat";
export const SCHEDULABLE_LABEL = "kubevirt.io/schedulable";
export const VIRT_HANDLER_COMPONENT = "virt-handler";
/** On a node: NAME/UID of the NodeEvacuation that has cordoned the node. */
export const CORDONED_BY_ANNOTATION = "lifeboat.dev/cordoned-by";
/** Annotations on a VirtualMachine: its owner's choices for a maintenance. */
export const NOT_BEFORE_ANNOTATION = "lifeboat.dev/not-before";
export const WHEN_BLOCKED_ANNOTATION = "lifeboat.dev/when-blocked";

/** On a node whose turn in a RollingMaintenance has not come: the scheduler prefers other nodes. */
export const PENDING_TAINT = { key: "lifeboat.dev/maintenance-pending", effect: "PreferNoSchedule" } as const;

export function isPendingTaint({ key, effect }: Readonly<Record<"key" | "effect", string>>): boolean {
  return key === PENDING_TAINT.key && effect === PENDING_TAINT.effect;
}

export const LIFEBOAT_NAMESPACE = "lifeboat-system";
/** ValidatingWebhookConfigurations: KubeVirt's own, and Lifeboat's. */
export const KUBEVIRT_WEBHOOKS = "virt-api-validator";
export const OWN_WEBHOOKS = "lifeboat";
/** A MutatingWebhookConfiguration, because the API server calls mutating webhooks before its admission policies. */
export const GUARD_WEBHOOKS = "lifeboat-guard";
/** ValidatingAdmissionPolicies of the guard, and their bindings. */
export const HOLD_PREEMPTION = "lifeboat-hold-preemption";
export const HOLD_TAINTS = "lifeboat-hold-taints";
export const HOLD_NODE_END = "lifeboat-hold-node-end";
export const LAUNCHERS_POLICY = "lifeboat-launchers";
export const CONFIGURATION = "lifeboat";
export const DESCHEDULER_CONFIG_MAP = "lifeboat-descheduler";
export const DESCHEDULER_KEY = "policy.yaml";
/**
 * The name of the Lease that a descheduling cycle holds. The requester in the cycle's Evacuations starts with this
 * name.
 */
export const DESCHEDULING = "lifeboat-descheduling";

/**
 * On the Lease of descheduling: one annotation for each remembered pod, with the pod's UID in the key and a time (RFC
 * 3339) as the value. The last key counts the requested evacuations.
 */
export const REQUESTED_PREFIX = "requested.lifeboat.dev/";
export const IN_PROGRESS_PREFIX = "in-progress.lifeboat.dev/";
export const POD_EVACUATIONS_ANNOTATION = "lifeboat.dev/pod-evacuations";

/** The longest value of a label. */
export const LONGEST_LABEL = 63;
