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
] as const;

export type FeatureGate = (typeof FEATURE_GATES)[number];

/** `true`: act at once and adopt nobody's work; `false`: off; `Auto`: yield to KubeVirt's own where it acts. */
export type ReconcilerMode = boolean | "Auto";

export interface Settings {
  /** `spec.configuration.evictionStrategy` of the KubeVirt CR, as written. */
  readonly clusterStrategy?: string;
  readonly kubevirtNamespace: string;
  readonly featureGates: readonly FeatureGate[];
  readonly drainTaintKey: string;
  readonly limits: {
    readonly parallelMigrationsPerCluster: number;
    readonly parallelOutboundMigrationsPerNode: number;
  };
  readonly reconcilers: { readonly evacuation: ReconcilerMode; readonly budget: boolean };
  readonly evacuation: {
    readonly maxAttempts: number;
    readonly backoffSeconds: number;
    readonly maxBackoffSeconds: number;
    /** How long to wait for KubeVirt's own migration after a mark before creating one. */
    readonly adoptSeconds: number;
  };
}

export const DEFAULT_SETTINGS: Settings = {
  kubevirtNamespace: "kubevirt",
  featureGates: [],
  drainTaintKey: "kubevirt.io/drain",
  limits: { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 2 },
  reconcilers: { evacuation: "Auto", budget: true },
  evacuation: { maxAttempts: 5, backoffSeconds: 20, maxBackoffSeconds: 320, adoptSeconds: 5 },
};
