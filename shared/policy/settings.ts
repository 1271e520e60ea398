/**
 * What a cluster's configuration says, as policy needs it: the KubeVirt CR and the LifeboatConfiguration together.
 * Owns: the shape and the defaults. Does not own: reading, parsing and merging (shared/config).
 */

export const FEATURE_GATES = [
  "DeschedulerSupport",
  "EvictionsInBackground",
  "NodePressureEvictionLiveMigration",
  "PreemptionEvictionLiveMigration",
  "NoExecuteTaintEvictionLiveMigration",
  "NodeTerminationEvictionLiveMigration",
] as const;

export type FeatureGate = (typeof FEATURE_GATES)[number];

/** `Auto`: only what KubeVirt does not do itself. */
export type ReconcilerMode = "Auto" | "Enabled" | "Disabled";

export interface Settings {
  /** `spec.configuration.evictionStrategy` of the KubeVirt CR, as written. */
  readonly clusterStrategy?: string;
  readonly kubevirtNamespace: string;
  /** Impersonate KubeVirt's own account, have KubeVirt's eviction webhook do it, or the second where the first is refused. */
  readonly marking: "Impersonate" | "Evict" | "Auto";
  readonly featureGates: readonly FeatureGate[];
  readonly drainTaintKey: string;
  /** Whether no eviction passes without KubeVirt's review, and no preemption without the guard's: see budget-mode.ts. */
  readonly evictionsCovered: boolean;
  /** Whether virt-handler asks the shield's Plugin. */
  readonly pluginServed: boolean;
  readonly limits: {
    readonly parallelMigrationsPerCluster: number;
    readonly parallelOutboundMigrationsPerNode: number;
    /** Bytes per second; absent: not limited. A MigrationPolicy may say otherwise of some VMs. */
    readonly bandwidthPerMigration?: number;
  };
  readonly reconcilers: {
    readonly evacuation: boolean;
    readonly budget: ReconcilerMode;
    readonly annotations: ReconcilerMode;
    readonly disruption: boolean;
    readonly pressure: boolean;
  };
  readonly evacuation: {
    readonly maxAttempts: number;
    readonly backoffSeconds: number;
    readonly maxBackoffSeconds: number;
    /** How long to wait for KubeVirt's own migration after a mark before creating one; for its annotations likewise. */
    readonly adoptSeconds: number;
    /** How long a migration may be pending, with KubeVirt's limits not reached, until that is a failed attempt. */
    readonly stuckSeconds: number;
    /** How long descheduling and node pressure leave a VM alone that has moved; 0: not at all. */
    readonly cooldownSeconds: number;
    /** How long an `Evacuation` that has ended stays. */
    readonly historySeconds: number;
    /** Whether uncordoning a node withdraws what a drain of it asked for. */
    readonly withdrawOnUncordon: boolean;
  };
  readonly guard: GuardSettings;
  /** Which VMs may move after SIGTERM, with the Plugin that makes virt-handler refuse a shutdown. */
  readonly shield: {
    /** The kubelets' `evictionMaxPodGracePeriod`, which the API does not show; 0: no VM is covered. */
    readonly maxPodGracePeriodSeconds: number;
    /** What a guest needs to shut down in order. */
    readonly shutdownSeconds: number;
  };
  /** Seconds from the beginning of a cycle to that of the next; 0: only when asked. */
  readonly descheduling: { readonly intervalSeconds: number };
}

/** How deletions that do not ask are refused. */
export interface GuardSettings {
  /** Longest time that the deletions of a pod are refused, by their cause. */
  readonly deadlineSeconds: {
    readonly Preemption: number;
    readonly NoExecuteTaint: number;
    readonly NodeTermination: number;
  };
  /** Users whose deletions are refused, by the condition of the pod; those of others never are. */
  readonly requesters: readonly string[];
  /** Users who delete the pods of a node that is about to end; theirs are refused until then. */
  readonly nodeTerminators: readonly string[];
}

export const DEFAULT_SETTINGS: Settings = {
  kubevirtNamespace: "kubevirt",
  marking: "Auto",
  featureGates: [],
  drainTaintKey: "kubevirt.io/drain",
  evictionsCovered: false,
  pluginServed: false,
  limits: { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 2 },
  reconcilers: { evacuation: true, budget: "Auto", annotations: "Auto", disruption: true, pressure: true },
  evacuation: {
    maxAttempts: 5,
    backoffSeconds: 20,
    maxBackoffSeconds: 320,
    adoptSeconds: 60,
    stuckSeconds: 180,
    cooldownSeconds: 900,
    historySeconds: 3600,
    withdrawOnUncordon: false,
  },
  guard: {
    deadlineSeconds: { Preemption: 120, NoExecuteTaint: 300, NodeTermination: 3600 },
    requesters: [
      "system:kube-scheduler",
      "system:serviceaccount:kube-system:node-controller",
      "system:serviceaccount:kube-system:taint-eviction-controller",
    ],
    nodeTerminators: ["system:serviceaccount:kube-system:karpenter", "system:serviceaccount:karpenter:karpenter"],
  },
  shield: { maxPodGracePeriodSeconds: 0, shutdownSeconds: 90 },
  descheduling: { intervalSeconds: 0 },
};
