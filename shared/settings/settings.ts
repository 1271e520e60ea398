/**
 * All fields of the administrator's settings, with their kinds and defaults. The types, the parser and the test of the
 * CRD are derived from these fields.
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

const DAY_SECONDS = 24 * 3600;

export type Field =
  | { readonly kind: "seconds"; readonly fallback: number; readonly most: number }
  | { readonly kind: "count"; readonly fallback: number }
  | { readonly kind: "oneOf"; readonly fallback: string; readonly values: readonly string[] }
  /** `least`: the minimum number of entries. */
  | { readonly kind: "usernames"; readonly fallback: readonly string[]; readonly least: 0 | 1 }
  | { readonly kind: "section"; readonly fields: Fields };

export type Fields = Readonly<Record<string, Field>>;

function seconds(fallback: number, most = 7 * DAY_SECONDS) {
  return { kind: "seconds", fallback, most } as const;
}

function oneOf<const V extends string>(fallback: NoInfer<V>, values: readonly V[]) {
  return { kind: "oneOf", fallback, values } as const;
}

function usernames(least: 0 | 1, fallback: readonly string[]) {
  return { kind: "usernames", least, fallback } as const;
}

function section<const F extends Fields>(fields: F) {
  return { kind: "section", fields } as const;
}

/** All fields except the feature gates. All feature gates are off by default. */
export const SCHEMA = {
  /** With `Auto`, Lifeboat creates PodDisruptionBudgets unless webhooks already protect all VMs (guarded.ts). */
  disruptionBudgets: oneOf("Auto", ["Auto", "Always", "Never"]),
  evacuation: section({
    maxAttempts: { kind: "count", fallback: 5 },
    backoffSeconds: seconds(20),
    maxBackoffSeconds: seconds(320),
    /**
     * After the creation of an Evacuation or the end of its back-off, Lifeboat waits this long for KubeVirt to create
     * the migration, and then creates it. Lifeboat also waits this long before it sets the descheduler's annotations
     * on launcher pods, because KubeVirt can set them.
     */
    adoptSeconds: seconds(60),
    /**
     * After this time, a pending migration counts as failed, if KubeVirt's limits would have allowed it to start.
     */
    stuckSeconds: seconds(180),
    /**
     * For this time after a move, descheduling does not move the VM again. Node pressure moves such a VM last, and only
     * if no other VM is leaving its node. With 0, neither of these two rules applies.
     */
    cooldownSeconds: seconds(900),
    /** How long an Evacuation is kept after its end. */
    historySeconds: seconds(3600),
  }),
  /** The guard refuses deletions that are not evictions. */
  guard: section({
    /** The maximum time for which deletions of a pod are refused, for each cause. */
    deadlineSeconds: section({
      Preemption: seconds(120),
      NoExecuteTaint: seconds(300),
      DeviceTaint: seconds(300),
      NodeTermination: seconds(3600),
    }),
    /**
     * Deletions by these users are refused if the pod's condition DisruptionTarget contains a guarded cause. Deletions
     * by users outside `requesters` and `nodeTerminators` are allowed.
     */
    requesters: usernames(1, [
      "system:kube-scheduler",
      "system:serviceaccount:kube-system:node-controller",
      "system:serviceaccount:kube-system:taint-eviction-controller",
      "system:serviceaccount:kube-system:device-taint-eviction-controller",
    ]),
    /** Users who delete the pods of a node that is being terminated. */
    nodeTerminators: usernames(0, [
      "system:serviceaccount:kube-system:karpenter",
      "system:serviceaccount:karpenter:karpenter",
    ]),
  }),
  /** The shield lets VMs migrate after SIGTERM. It needs the Plugin that makes virt-handler refuse a shutdown. */
  shield: section({
    /** The kubelets' `evictionMaxPodGracePeriod`, which cannot be read through the API. With 0, the shield is off. */
    maxPodGracePeriodSeconds: seconds(0),
    /** The time that a guest needs for a clean shutdown. */
    shutdownSeconds: seconds(90),
  }),
  maintenance: section({
    /** How long the results for VMs are kept after a maintenance. */
    historySeconds: seconds(30 * DAY_SECONDS, 90 * DAY_SECONDS),
  }),
  /** The seconds between the starts of two descheduling cycles. With 0, a cycle runs only on request. */
  descheduling: section({ intervalSeconds: seconds(0) }),
} as const satisfies Fields;

type ValueOf<F> = F extends { readonly kind: "section"; readonly fields: infer S }
  ? { readonly [K in keyof S]: ValueOf<S[K]> }
  : F extends { readonly kind: "oneOf"; readonly values: readonly (infer V)[] }
    ? V
    : F extends { readonly kind: "usernames" }
      ? readonly string[]
      : number;

export type Values<F> = { readonly [K in keyof F]: ValueOf<F[K]> };
export type OwnSettings = Values<typeof SCHEMA>;

export function defaultsOf<F extends Fields>(fields: F): Values<F>;
export function defaultsOf(fields: Fields): unknown {
  const entries = Object.entries(fields).map(([key, field]) => {
    return [key, field.kind === "section" ? defaultsOf(field.fields) : field.fallback] as const;
  });
  return Object.fromEntries(entries);
}

export interface Settings extends OwnSettings {
  /** `spec.configuration.evictionStrategy` of the KubeVirt object, as written. */
  readonly clusterStrategy?: string;
  readonly featureGates: readonly FeatureGate[];
  readonly drainTaintKey: string;
  /** True if KubeVirt reviews every eviction and the guard reviews every preemption. See guarded.ts. */
  readonly evictionsCovered: boolean;
  /**
   * True if a policy of the API server refuses deletions for NoExecute taints although the feature gate for taints is
   * off. If the feature gate is on, Lifeboat does not set this field.
   */
  readonly isHoldingTaints: boolean;
  readonly handlerToleratesNoExecute: boolean;
  readonly isShieldOn: boolean;
  readonly limits: {
    readonly parallelMigrationsPerCluster: number;
    readonly parallelOutboundMigrationsPerNode: number;
    /**
     * The bandwidth of a migration, in bytes per second. Absent if it is unlimited. A MigrationPolicy can set another
     * value for some VMs.
     */
    readonly bandwidthPerMigration?: number;
  };
  /** How KubeVirt renders launcher pods, according to its configuration. */
  readonly rendering: Rendering;
  /** KubeVirt's minor version, for example 9 for v1.9.0. Absent if it is unknown. */
  readonly kubevirtMinor?: number;
}

export interface Rendering {
  /** Guest memory as a percentage of the pod's memory request. */
  readonly memoryOvercommit: number;
  /** The number of virtual CPUs for each requested CPU. */
  readonly cpuAllocationRatio: number;
  readonly overheadRatio: number;
  readonly nodeSelectors: Readonly<Record<string, string>>;
}

export const DEFAULT_SETTINGS: Settings = {
  ...defaultsOf(SCHEMA),
  featureGates: [],
  drainTaintKey: "kubevirt.io/drain",
  evictionsCovered: false,
  isHoldingTaints: false,
  handlerToleratesNoExecute: false,
  isShieldOn: false,
  limits: { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 2 },
  rendering: { memoryOvercommit: 100, cpuAllocationRatio: 10, overheadRatio: 1, nodeSelectors: {} },
};

export function isShieldWanted({ shield, featureGates }: Settings): boolean {
  return featureGates.includes("NodePressureEvictionLiveMigration") && shield.maxPodGracePeriodSeconds > 0;
}
