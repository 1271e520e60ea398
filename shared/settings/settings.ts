/** What a cluster's configuration says, as policy needs it: the KubeVirt CR and the LifeboatConfiguration together. */
import { defaultsOf, type FeatureGate, type OwnSettings, SCHEMA } from "./schema.ts";

export { FEATURE_GATES, type FeatureGate } from "./schema.ts";

export interface Settings extends OwnSettings {
  /** `spec.configuration.evictionStrategy` of the KubeVirt CR, as written. */
  readonly clusterStrategy?: string;
  readonly featureGates: readonly FeatureGate[];
  readonly drainTaintKey: string;
  /** Whether no eviction passes without KubeVirt's review, and no preemption without the guard's: see covered.ts. */
  readonly evictionsCovered: boolean;
  /** Whether virt-handler asks the shield's Plugin. */
  readonly pluginServed: boolean;
  readonly limits: {
    readonly parallelMigrationsPerCluster: number;
    readonly parallelOutboundMigrationsPerNode: number;
    /** Bytes per second; absent: not limited. A MigrationPolicy may say otherwise of some VMs. */
    readonly bandwidthPerMigration?: number;
  };
}

export const DEFAULT_SETTINGS: Settings = {
  ...defaultsOf(SCHEMA),
  featureGates: [],
  drainTaintKey: "kubevirt.io/drain",
  evictionsCovered: false,
  pluginServed: false,
  limits: { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 2 },
};

export function isShieldWanted({ shield, featureGates }: Settings): boolean {
  return featureGates.includes("NodePressureEvictionLiveMigration") && shield.maxPodGracePeriodSeconds > 0;
}

export function isShieldOn(settings: Settings): boolean {
  return isShieldWanted(settings) && settings.pluginServed;
}
