/** KubeVirt's kinds: the fields that policy reads of each, as facts. */
import * as z from "zod/mini";
import type { MigrationFacts, VmiFacts } from "../facts.ts";
import * as names from "../names.ts";
import {
  Conditions,
  createdAt,
  identityOf,
  kind,
  listOf,
  Meta,
  part,
  Phase,
  present,
  quantity,
  Quantity,
  TextsOrNone,
  Text,
} from "./fields.ts";
import { LiveMigratable, MigrationState } from "./vmi-status.ts";

/** Upstream: `IsDecentralized`. A migration with both ends stays within the namespace, as any other. */
function decentralized(sends: boolean, receives: boolean): "Sends" | "Receives" | undefined {
  if (sends === receives) return undefined;
  return sends ? "Sends" : "Receives";
}

/** True of a list with anything in it. */
const Some = z.pipe(
  listOf(z.unknown()),
  z.transform(({ length }) => length > 0 || undefined),
);

/** The name of the one under way. Upstream: `IsBackupInProgress`. */
const BackupStatus = z.lazy(() =>
  z.pipe(
    part({ backupName: Text, completed: z.nullish(z.boolean()) }),
    z.transform(({ backupName, completed }) => (completed === true ? undefined : backupName)),
  ),
);

export const Vmi = kind(
  () => ({
    metadata: Meta,
    spec: z.object({
      evictionStrategy: Text,
      terminationGracePeriodSeconds: z.nullish(z.number()),
      utilityVolumes: Some,
      domain: part({ memory: part({ guest: Quantity }) }),
    }),
    status: part({
      phase: Phase,
      nodeName: Text,
      evacuationNodeName: Text,
      activePods: TextsOrNone,
      conditions: LiveMigratable,
      migrationState: z.nullish(MigrationState),
      changedBlockTracking: part({ backupStatus: BackupStatus }),
    }),
  }),
  ({ metadata, spec, status: { conditions, migrationState, changedBlockTracking, ...status } }): VmiFacts => {
    const { labels, annotations } = metadata;
    const { status: migratable, reason, message } = conditions ?? {};
    const { isSending, ...migration } = migrationState ?? {
      isMigrating: false,
      isSending: false,
      guestOnTarget: false,
    };
    return present({
      ...identityOf(metadata),
      ...status,
      ...migration,
      liveMigratable: present({ migratable: migratable === "True", reason, message }),
      hasLabels: Boolean(labels),
      hasAnnotations: Boolean(annotations),
      guestMemory: quantity(spec.domain.memory.guest),
      backup: changedBlockTracking.backupStatus,
      hasUtilityVolumes: spec.utilityVolumes,
      evictionStrategy: spec.evictionStrategy,
      decentralized: decentralized(isSending, annotations?.[names.RECEIVER_ANNOTATION] === "true"),
      evictionSource: annotations?.[names.EVICTION_SOURCE_ANNOTATION],
      isGentle: [labels, annotations].some((map) => map?.[names.CONVERGENCE] === names.GENTLE) || undefined,
      evacuationLabel: labels?.[names.EVACUATION_LABEL],
      shield: labels?.[names.SHIELD_LABEL],
      graceSeconds: spec.terminationGracePeriodSeconds ?? undefined,
    });
  },
);

/**
 * Conditions of a migration that KubeVirt cannot begin, in the order in which it looks at them.
 * Upstream: staging/src/kubevirt.io/api/core/v1/types.go.
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

/** When it became Failed. */
const FailedAt = z.lazy(() =>
  z.pipe(
    listOf(z.object({ phase: Text, phaseTransitionTimestamp: Text })),
    z.transform((phases) => {
      const failed = phases.find(({ phase }) => phase === "Failed");
      return Date.parse(failed?.phaseTransitionTimestamp ?? "") || undefined;
    }),
  ),
);

/** What its annotations say of KubeVirt's back-off. Upstream: `handleMigrationBackoff`. */
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
      phase: Phase,
      migrationState: part({ sourceNode: Text, targetNode: Text, targetPod: Text, failureReason: Text }),
      conditions: Conditions,
      phaseTransitionTimestamps: FailedAt,
    }),
  }),
  ({ metadata, spec, status: { phase, migrationState, conditions, phaseTransitionTimestamps } }): MigrationFacts =>
    present({
      ...identityOf(metadata),
      ...backoffOf(metadata.annotations),
      failedAt: phaseTransitionTimestamps,
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

/** What the KubeVirt CR says about evictions and migrations; its namespace is where KubeVirt's own accounts live. */
export interface KubeVirtFacts {
  readonly namespace: string;
  readonly evictionStrategy?: string;
  readonly featureGates: readonly string[];
  readonly drainTaintKey?: string;
  readonly parallelMigrationsPerCluster?: number;
  readonly parallelOutboundMigrationsPerNode?: number;
  /** Bytes per second; absent: not limited. */
  readonly bandwidthPerMigration?: number;
  /** Of its version: v1.9.0 is 9; absent if it does not say, as a build from a branch. */
  readonly minor?: number;
}

export const KubeVirt = kind(
  () => ({
    metadata: Meta,
    spec: part({
      configuration: part({
        evictionStrategy: Text,
        developerConfiguration: part({ featureGates: listOf(z.string()) }),
        migrations: part({
          nodeDrainTaintKey: Text,
          parallelMigrationsPerCluster: z.optional(z.number()),
          parallelOutboundMigrationsPerNode: z.optional(z.number()),
          bandwidthPerMigration: Quantity,
        }),
      }),
    }),
    status: part({ observedKubeVirtVersion: Text }),
  }),
  ({ metadata: { namespace }, spec, status: { observedKubeVirtVersion = "" } }): KubeVirtFacts => {
    const { evictionStrategy, developerConfiguration, migrations } = spec.configuration;
    const { nodeDrainTaintKey: drainTaintKey, bandwidthPerMigration, ...limits } = migrations;
    const [, minor] = /^v?1\.(\d+)\./.exec(observedKubeVirtVersion) ?? [];
    return present({
      namespace,
      ...developerConfiguration,
      evictionStrategy,
      drainTaintKey,
      ...limits,
      bandwidthPerMigration: quantity(bandwidthPerMigration) || undefined,
      minor: minor === undefined ? undefined : Number(minor),
    });
  },
);
