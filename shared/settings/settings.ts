/**
 * The administrator's settings: each field once, with its kind and default. The types, the parser and the test of the
 * CRD derive from these fields.
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

/** The fields besides the feature gates. All gates are off by default. */
export const SCHEMA = {
  /** `Auto`: Lifeboat creates budgets unless webhooks already review every eviction. */
  disruptionBudgets: oneOf("Auto", ["Auto", "Always", "Never"]),
  evacuation: section({
    maxAttempts: { kind: "count", fallback: 5 },
    backoffSeconds: seconds(20),
    maxBackoffSeconds: seconds(320),
    /**
     * How long Lifeboat waits after a mark for KubeVirt's own migration and annotations. Lifeboat then creates them.
     */
    adoptSeconds: seconds(60),
    /** Seconds until a pending migration counts as failed, if KubeVirt's limits allow it. */
    stuckSeconds: seconds(180),
    /** How long descheduling and node pressure leave a VM on its node after a move. 0: no pause. */
    cooldownSeconds: seconds(900),
    /** How long an ended `Evacuation` stays. */
    historySeconds: seconds(3600),
  }),
  /** How Lifeboat refuses deletions that are no evictions. */
  guard: section({
    /** The longest time to refuse the deletion of a pod, by cause. */
    deadlineSeconds: section({
      Preemption: seconds(120),
      NoExecuteTaint: seconds(300),
      DeviceTaint: seconds(300),
      NodeTermination: seconds(3600),
    }),
    /**
     * Users whose deletions are refused if the pod's condition DisruptionTarget names a guarded cause. Deletions by all
     * users outside `requesters` and `nodeTerminators` are allowed.
     */
    requesters: usernames(1, [
      "system:kube-scheduler",
      "system:serviceaccount:kube-system:node-controller",
      "system:serviceaccount:kube-system:taint-eviction-controller",
      "system:serviceaccount:kube-system:device-taint-eviction-controller",
    ]),
    /** Users who delete pods of a node that is being terminated. */
    nodeTerminators: usernames(0, [
      "system:serviceaccount:kube-system:karpenter",
      "system:serviceaccount:karpenter:karpenter",
    ]),
  }),
  /** The shield lets VMs move after SIGTERM. The shield needs the Plugin that makes virt-handler refuse a shutdown. */
  shield: section({
    /** The kubelets' `evictionMaxPodGracePeriod`, which the API does not show. 0: no VM is covered. */
    maxPodGracePeriodSeconds: seconds(0),
    /** The time that a guest needs for an orderly shutdown. */
    shutdownSeconds: seconds(90),
  }),
  maintenance: section({
    /** How long the outcomes of VMs are kept after a maintenance. */
    historySeconds: seconds(30 * DAY_SECONDS, 90 * DAY_SECONDS),
  }),
  /** The seconds from the start of a cycle to the start of the next. 0: cycles run only on request. */
  descheduling: section({ intervalSeconds: seconds(0) }),
} as const satisfies Fields;

type ValueOf<F> = F extends { readonly kind: "section"; readonly fields: infer S }
  ? { readonly [K in keyof S]: ValueOf<S[K]> }
  : F extends { readonly kind: "oneOf"; readonly values: readonly (infer V)[] }
    ? V
    : F extends { readonly kind: "usernames" }
      ? readonly string[]
      : number;

/** The settings, with every field. */
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
  /** Whether KubeVirt reviews every eviction and the guard reviews every preemption: see guarded.ts. */
  readonly evictionsCovered: boolean;
  /** Whether the API server's policy refuses deletions for NoExecute taints. It is read only if the gate is off. */
  readonly isHoldingTaints: boolean;
  /** Whether virt-handler stays on a node that gets a NoExecute taint. */
  readonly handlerToleratesNoExecute: boolean;
  readonly isShieldOn: boolean;
  readonly limits: {
    readonly parallelMigrationsPerCluster: number;
    readonly parallelOutboundMigrationsPerNode: number;
    /**
     * The bandwidth of a migration, in bytes per second. Absent: unlimited. A MigrationPolicy may set another value for
     * some VMs.
     */
    readonly bandwidthPerMigration?: number;
  };
  /** How KubeVirt renders launcher pods, by its configuration. */
  readonly rendering: Rendering;
  /** KubeVirt's minor version: 9 for v1.9.0. Absent: unknown. */
  readonly kubevirtMinor?: number;
}

export interface Rendering {
  /** Guest memory in per cent of the pod's request. */
  readonly memoryOvercommit: number;
  /** How many virtual CPUs one CPU serves. */
  readonly cpuAllocationRatio: number;
  /** KubeVirt multiplies the memory overhead by this ratio. */
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
