/** Defines the schemas of migrations and of the KubeVirt object, with only the fields that rules read. */
import * as z from "zod/mini";
import type { MigrationFacts } from "../facts.ts";
import * as names from "../names.ts";
import {
  Conditions,
  createdAt,
  identityOf,
  kind,
  listOf,
  Meta,
  part,
  PhaseText,
  present,
  quantity,
  Quantity,
  Text,
  TextsOrNone,
  Toleration,
} from "./fields.ts";
import { decentralized } from "./vmi.ts";

/**
 * The conditions of a migration that KubeVirt cannot start, in the order of KubeVirt's checks
 * (VERSIONS.blockedMigrations). Upstream: api/core/v1/types.go.
 */
const BLOCKING: readonly string[] = [
  "migrationBlockedByBackup",
  "migrationBlockedByUtilityVolumes",
  names.OVER_QUOTA,
  "decentralizedMigrationBlocked",
];

function blockedBy(conditions: Conditions): MigrationFacts["blockedBy"] {
  const condition = conditions.find(({ type, status }) => BLOCKING.includes(type) && status === "True");
  if (condition === undefined) return undefined;
  const { type, reason, message } = condition;
  return present({ type, reason, message });
}

const End = z.optional(z.unknown());

/** The time at which the migration last entered each phase, in whole seconds. */
const Phases = z.lazy(() =>
  z.pipe(
    listOf(z.object({ phase: Text, phaseTransitionTimestamp: Text })),
    z.transform((phases) => {
      const at = (wanted: string) => {
        const found = phases.find(({ phase }) => phase === wanted)?.phaseTransitionTimestamp;
        return Date.parse(found ?? "") || undefined;
      };
      const [began, succeeded] = [at("Scheduling"), at("Succeeded")];
      const isKnown = began !== undefined && succeeded !== undefined;
      return {
        failedAt: at("Failed"),
        schedulingSince: began,
        tookSeconds: isKnown ? (succeeded - began) / 1000 : undefined,
      };
    }),
  ),
);

/**
 * Reads the annotations that decide whether KubeVirt delays the migration after a failure. Upstream:
 * `handleMigrationBackoff`.
 */
function backoffOf(
  annotations: Readonly<Record<string, string>> = {},
): Pick<MigrationFacts, "automatic" | "skipsBackoff"> {
  const isAutomatic = [names.EVACUATION_MIGRATION_ANNOTATION, names.WORKLOAD_UPDATE_ANNOTATION].some((key) =>
    Object.hasOwn(annotations, key),
  );
  const skips = Object.hasOwn(annotations, names.SKIP_BACKOFF_ANNOTATION);
  return { ...(isAutomatic && { automatic: true }), ...(skips && { skipsBackoff: true }) };
}

export const Migration = kind(
  () => ({
    metadata: Meta,
    spec: z.object({ vmiName: z.string(), sendTo: End, receive: End }),
    status: part({
      phase: PhaseText,
      migrationState: part({ sourceNode: Text, targetNode: Text, targetPod: Text, failureReason: Text }),
      conditions: Conditions,
      phaseTransitionTimestamps: Phases,
    }),
  }),
  ({ metadata, spec, status: { phase, migrationState, conditions, phaseTransitionTimestamps } }): MigrationFacts =>
    present({
      ...identityOf(metadata),
      ...backoffOf(metadata.annotations),
      ...phaseTransitionTimestamps,
      vmiName: spec.vmiName,
      decentralized: decentralized(Boolean(spec.sendTo), Boolean(spec.receive)),
      ...migrationState,
      phase,
      createdAt: createdAt(metadata),
      evacuates: metadata.annotations?.[names.EVACUATION_MIGRATION_ANNOTATION],
      cause: metadata.annotations?.[names.CAUSE_ANNOTATION],
      blockedBy: blockedBy(conditions),
    }),
);

/** KubeVirt's namespace and its configuration of evictions and migrations. */
export interface KubeVirtFacts {
  readonly namespace: string;
  readonly evictionStrategy?: string;
  readonly featureGates: readonly string[];
  readonly drainTaintKey?: string;
  readonly parallelMigrationsPerCluster?: number;
  readonly parallelOutboundMigrationsPerNode?: number;
  readonly bandwidthPerMigration?: number;
  /** The guest's memory in percent of the pod's request, and the number of virtual CPUs for each requested CPU. */
  readonly memoryOvercommit?: number;
  readonly cpuAllocationRatio?: number;
  /** The factor by which KubeVirt multiplies its memory overhead. */
  readonly overheadRatio?: number;
  /** The labels that every launcher pod requires on its node. */
  readonly nodeSelectors?: Readonly<Record<string, string>>;
  /** The minor number of KubeVirt's version, such as 9 for v1.9.0. Absent for a build from a branch. */
  readonly minor?: number;
  /** Whether KubeVirt's operator is installing another version or configuration. */
  readonly isRollingOut?: boolean;
  /** Whether virt-handler tolerates every NoExecute taint. */
  readonly toleratesNoExecute?: boolean;
}

function toleratesEveryNoExecute({ key, operator, effect, tolerationSeconds }: z.output<typeof Toleration>): boolean {
  const isOfEach = !key && operator === "Exists" && (!effect || effect === "NoExecute");
  return isOfEach && tolerationSeconds === undefined;
}

const Positive = z.pipe(
  z.nullish(z.number()),
  z.transform((number) => number || undefined),
);

/**
 * Returns whether KubeVirt's operator has not finished its rollout. Upstream: `KubeVirtStatus` of api/core/v1/types.go.
 */
const isAhead = (target = "", observed = "") => target !== "" && target !== observed;

export const KubeVirt = kind(
  () => ({
    metadata: Meta,
    spec: part({
      configuration: part({
        evictionStrategy: Text,
        additionalGuestMemoryOverheadRatio: Text,
        developerConfiguration: part({
          featureGates: listOf(z.string()),
          memoryOvercommit: Positive,
          cpuAllocationRatio: Positive,
          nodeSelectors: TextsOrNone,
        }),
        migrations: part({
          nodeDrainTaintKey: Text,
          parallelMigrationsPerCluster: z.optional(z.number()),
          parallelOutboundMigrationsPerNode: z.optional(z.number()),
          bandwidthPerMigration: Quantity,
        }),
      }),
      workloads: part({ nodePlacement: part({ tolerations: listOf(Toleration) }) }),
    }),
    status: part({
      observedKubeVirtVersion: Text,
      targetKubeVirtVersion: Text,
      observedDeploymentID: Text,
      targetDeploymentID: Text,
    }),
  }),
  ({ metadata: { namespace }, spec, status }): KubeVirtFacts => {
    const { observedKubeVirtVersion = "", targetKubeVirtVersion } = status;
    const isRollingOut =
      isAhead(targetKubeVirtVersion, observedKubeVirtVersion) ||
      isAhead(status.targetDeploymentID, status.observedDeploymentID);
    const { evictionStrategy, developerConfiguration, migrations, additionalGuestMemoryOverheadRatio } =
      spec.configuration;
    const { featureGates, memoryOvercommit, cpuAllocationRatio, nodeSelectors } = developerConfiguration;
    const { nodeDrainTaintKey: drainTaintKey, bandwidthPerMigration, ...limits } = migrations;
    const [, minor] = /^v?1\.(\d+)\./.exec(observedKubeVirtVersion) ?? [];
    return present({
      namespace,
      featureGates,
      memoryOvercommit,
      cpuAllocationRatio,
      overheadRatio: Number(additionalGuestMemoryOverheadRatio) || undefined,
      nodeSelectors: Object.keys(nodeSelectors).length === 0 ? undefined : nodeSelectors,
      evictionStrategy,
      drainTaintKey,
      ...limits,
      bandwidthPerMigration: quantity(bandwidthPerMigration) || undefined,
      minor: minor === undefined ? undefined : Number(minor),
      isRollingOut: isRollingOut || undefined,
      toleratesNoExecute: spec.workloads.nodePlacement.tolerations.some(toleratesEveryNoExecute) || undefined,
    });
  },
);
