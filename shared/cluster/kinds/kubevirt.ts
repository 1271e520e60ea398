/**
 * KubeVirt's kinds: the fields that policy reads of each, as facts.
 * Owns: their schemas. Does not own: requests (cluster.ts), rules.
 */
import * as z from "zod/mini";
import type { MigrationFacts, VmiFacts } from "../../policy/facts.ts";
import * as names from "../../policy/names.ts";
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
  StringsOrNone,
  Text,
} from "./fields.ts";

/** The guest runs on the target from post-copy on, or once its domain is ready there. */
const MigrationState = kind(
  () => ({
    migrationUid: Text,
    failureReason: Text,
    mode: Text,
    sourceNode: Text,
    targetNode: Text,
    targetNodeDomainReadyTimestamp: Text,
    startTimestamp: Text,
    endTimestamp: Text,
    completed: z.nullish(z.boolean()),
    failed: z.nullish(z.boolean()),
    targetState: part({ syncAddress: Text }),
  }),
  ({ migrationUid, failureReason, targetState, ...state }) => {
    const goesOn = state.endTimestamp === undefined && state.failed !== true;
    const isUnderWay = goesOn && state.completed !== true;
    const isSending = isUnderWay && targetState.syncAddress !== undefined;
    const isOnTarget = state.mode === "PostCopy" || state.targetNodeDomainReadyTimestamp !== undefined;
    return {
      // One to another VMI gets its UID when that has answered; if it is given up before, nothing takes the rest back.
      isMigrating: isUnderWay && !(isSending && migrationUid === undefined),
      isSending,
      guestOnTarget: goesOn && isOnTarget,
      movedAt: movedAt(state),
      movedInSeconds: movedInSeconds(state),
      failure: migrationUid && failureReason ? { migrationUID: migrationUid, reason: failureReason } : undefined,
    };
  },
);

interface Ended {
  readonly sourceNode?: string | undefined;
  readonly targetNode?: string | undefined;
  readonly startTimestamp?: string | undefined;
  readonly endTimestamp?: string | undefined;
  readonly completed?: boolean | null | undefined;
  readonly failed?: boolean | null | undefined;
}

/** A failed one is completed, too. */
function movedAt({ sourceNode, targetNode, endTimestamp, completed, failed }: Ended): number | undefined {
  if (completed !== true || failed === true || sourceNode === targetNode) return undefined;
  return Date.parse(endTimestamp ?? "") || undefined;
}

function movedInSeconds(state: Ended): number | undefined {
  const ended = movedAt(state);
  return ended === undefined ? undefined : (ended - Date.parse(state.startTimestamp ?? "")) / 1000 || undefined;
}

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
      domain: part({ memory: part({ guest: Text }) }),
    }),
    status: part({
      phase: Phase,
      nodeName: Text,
      evacuationNodeName: Text,
      activePods: StringsOrNone,
      conditions: Conditions,
      migrationState: z.nullish(MigrationState),
      changedBlockTracking: part({ backupStatus: BackupStatus }),
    }),
  }),
  ({ metadata, spec, status: { conditions, migrationState, changedBlockTracking, ...status } }): VmiFacts => {
    const { labels, annotations } = metadata;
    const condition = conditions.find(({ type }) => type === "LiveMigratable");
    const { reason, message } = condition ?? {};
    const { isSending, ...migration } = migrationState ?? {
      isMigrating: false,
      isSending: false,
      guestOnTarget: false,
    };
    return present({
      ...identityOf(metadata),
      ...status,
      ...migration,
      liveMigratable: present({ migratable: condition?.status === "True", reason, message }),
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

export const Migration = kind(
  () => ({
    metadata: Meta,
    spec: z.object({ vmiName: z.string(), sendTo: End, receive: End }),
    status: part({
      phase: Phase,
      migrationState: part({ sourceNode: Text, targetNode: Text, targetPod: Text, failureReason: Text }),
      conditions: Conditions,
    }),
  }),
  ({ metadata, spec, status: { phase, migrationState, conditions } }): MigrationFacts =>
    present({
      ...identityOf(metadata),
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

/** A quantity may be written as a number, too. */
const Quantity = z.pipe(
  z.nullish(z.union([z.string(), z.number()])),
  z.transform((value) => (value === null || value === undefined ? undefined : String(value))),
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
