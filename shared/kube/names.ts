/** Contains the names of labels, annotations and objects of Kubernetes, KubeVirt and Lifeboat. */

export const COMPONENT_LABEL = "kubevirt.io";
export const LAUNCHER_COMPONENT = "virt-launcher";
export const HOTPLUG_COMPONENT = "hotplug-disk";

/** A launcher pod has its VMI's UID in this label, and its VMI's name in the annotation `kubevirt.io/domain`. */
export const CREATED_BY_LABEL = "kubevirt.io/created-by";
/** The target pod of a migration has the UID of the migration as a label with this key, even after the migration. */
export const MIGRATION_JOB_LABEL = "kubevirt.io/migrationJobUID";
export const DOMAIN_ANNOTATION = "kubevirt.io/domain";

/**
 * The node that a migration evacuates. Only KubeVirt's evacuation controller may set this annotation, because KubeVirt
 * limits the number of annotated migrations.
 */
export const EVACUATION_MIGRATION_ANNOTATION = "kubevirt.io/evacuationMigration";
/** KubeVirt's workload updater sets this annotation on its migrations. */
export const WORKLOAD_UPDATE_ANNOTATION = "kubevirt.io/workloadUpdateMigration";
/**
 * With this annotation, virt-controller starts a migration without a back-off. KubeVirt introduced it for its own
 * tests.
 */
export const SKIP_BACKOFF_ANNOTATION = "kubevirt.io/func-test-ignore-migration-backoff";
/** KubeVirt's webhook sets this annotation on a VMI that the descheduler evicts. The only value is `descheduler`. */
export const EVICTION_SOURCE_ANNOTATION = "kubevirt.io/eviction-source";
export const NODE_NAME_LABEL = "kubevirt.io/nodeName";
/** KubeVirt's mutating webhook sets this label on migrations. */
export const VMI_NAME_LABEL = "kubevirt.io/vmi-name";
/** A VMI that receives its guest from another namespace or cluster has this annotation until the guest has arrived. */
export const RECEIVER_ANNOTATION = "kubevirt.io/create-migration-target";
/** The condition of a migration whose target pod exceeds a quota. KubeVirt writes neither a reason nor a message. */
export const OVER_QUOTA = "migrationRejectedByResourceQuota";
/** A migrating VMI has the name of its target node as a label with this key. */
export const TARGET_NODE_LABEL = "kubevirt.io/migrationTargetNodeName";

/** The descheduler writes its name to this annotation of an Eviction. */
export const REQUESTED_BY_ANNOTATION = "requested-by";
export const DESCHEDULER = "sigs.k8s.io/descheduler";

/** If this label or annotation of a VMI has the value `gentle`, no migration may slow down or pause the guest. */
export const CONVERGENCE = "lifeboat.dev/convergence";
export const GENTLE = "gentle";
/**
 * A VMI has this label if its evacuation is urgent or is at its last attempt. Lifeboat's MigrationPolicy selects VMIs
 * by this label.
 */
export const EVACUATION_LABEL = "lifeboat.dev/evacuation";

/**
 * While this label contains a time, virt-handler does not shut the VMI down. At this time, in seconds since the epoch,
 * Lifeboat reads the Events of refused shutdowns. The value `over` ends the delay.
 */
export const SHIELD_LABEL = "lifeboat.dev/shield";

export const SHIELD_PLUGIN = "lifeboat-shield";
export const PLUGINS_GATE = "Plugins";

/**
 * The value of `spec.requestedBy` if KubeVirt started the evacuation without Lifeboat. The next requester replaces it.
 */
export const FOUND_MARKED = "KubeVirt";

/** Annotations of a migration: the cause and the name of the Evacuation for which it was created. */
export const CAUSE_ANNOTATION = "lifeboat.dev/cause";
export const EVACUATION_ANNOTATION = "lifeboat.dev/evacuation";

export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
export const MANAGED_BY = "lifeboat";
export const NAME_PREFIX = "lifeboat-";

/**
 * The descheduler only requests the eviction of a pod with this annotation and does not wait for its deletion. Any
 * value has this effect.
 */
export const REQUEST_EVICT_ONLY_ANNOTATION = "descheduler.alpha.kubernetes.io/request-evict-only";
/**
 * The descheduler treats the eviction of a pod with this annotation as in progress. Any value has this effect. KubeVirt
 * writes the value `"true"`.
 */
export const EVICTION_IN_PROGRESS_ANNOTATION = "descheduler.alpha.kubernetes.io/eviction-in-progress";
/**
 * With the annotation `evict`, the descheduler may evict a pod although a filter protects it. With
 * `prefer-no-eviction`, the descheduler evicts the pod only if it has no choice.
 */
export const EVICT_ANNOTATION = "descheduler.alpha.kubernetes.io/evict";
export const PREFER_NO_EVICTION_ANNOTATION = "descheduler.alpha.kubernetes.io/prefer-no-eviction";
/** Annotations of static pods. */
export const MIRROR_POD_ANNOTATION = "kubernetes.io/config.mirror";
export const CONFIG_SOURCE_ANNOTATION = "kubernetes.io/config.source";
export const CONFIG_SOURCE_API = "api";
export const REASON_ANNOTATION = "reason";

/** The time at which Karpenter terminates the node (RFC 3339). */
export const TERMINATION_ANNOTATION = "karpenter.sh/nodeclaim-termination-timestamp";

/**
 * The annotation with virt-handler's last heartbeat on the node, and the label that says whether KubeVirt may start VMs
 * on the node. A terminating virt-handler sets the label to false.
 */
export const HEARTBEAT_ANNOTATION = "kubevirt.io/heartbeat";
export const SCHEDULABLE_LABEL = "kubevirt.io/schedulable";
export const VIRT_HANDLER_COMPONENT = "virt-handler";
/** The NodeEvacuation that has cordoned the node, as NAME/UID. */
export const CORDONED_BY_ANNOTATION = "lifeboat.dev/cordoned-by";
/** Annotations with which the owner of a VirtualMachine controls maintenance. */
export const NOT_BEFORE_ANNOTATION = "lifeboat.dev/not-before";
export const WHEN_BLOCKED_ANNOTATION = "lifeboat.dev/when-blocked";

/** The taint of a node that a RollingMaintenance has not started to drain. The scheduler prefers other nodes. */
export const PENDING_TAINT = { key: "lifeboat.dev/maintenance-pending", effect: "PreferNoSchedule" } as const;

export function isPendingTaint({ key, effect }: Readonly<Record<"key" | "effect", string>>): boolean {
  return key === PENDING_TAINT.key && effect === PENDING_TAINT.effect;
}

export const LIFEBOAT_NAMESPACE = "lifeboat-system";
export const KUBEVIRT_WEBHOOKS = "virt-api-validator";
export const OWN_WEBHOOKS = "lifeboat";
/**
 * The name of a MutatingWebhookConfiguration. It is mutating because the API server calls mutating webhooks before it
 * checks ValidatingAdmissionPolicies.
 */
export const GUARD_WEBHOOKS = "lifeboat-guard";
/** The names of ValidatingAdmissionPolicies and their bindings. */
export const HOLD_PREEMPTION = "lifeboat-hold-preemption";
export const HOLD_TAINTS = "lifeboat-hold-taints";
export const HOLD_NODE_END = "lifeboat-hold-node-end";
export const LAUNCHERS_POLICY = "lifeboat-launchers";
export const CONFIGURATION = "lifeboat";
export const DESCHEDULER_CONFIG_MAP = "lifeboat-descheduler";
export const DESCHEDULER_KEY = "policy.yaml";
/**
 * The name of the Lease that a descheduling cycle acquires. In the Evacuations that the cycle creates,
 * `spec.requestedBy` starts with this name.
 */
export const DESCHEDULING = "lifeboat-descheduling";

/**
 * Prefixes of annotations on the Lease of descheduling. Each key ends with the UID of a pod. Each value is the time at
 * which the pod's eviction was requested or found in progress (RFC 3339).
 */
export const REQUESTED_PREFIX = "requested.lifeboat.dev/";
export const IN_PROGRESS_PREFIX = "in-progress.lifeboat.dev/";
export const POD_EVACUATIONS_ANNOTATION = "lifeboat.dev/pod-evacuations";

/** The maximum length of a label's value. */
export const LONGEST_LABEL = 63;
