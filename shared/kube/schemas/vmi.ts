/** Defines the schema of a VirtualMachineInstance, with only the fields that rules read. */
import * as z from "zod/mini";
import type { VmiFacts } from "../facts.ts";
import { HOTPLUGS } from "../guest.ts";
import * as names from "../names.ts";
import { identityOf, kind, listOf, Meta, part, PhaseText, present, Text, TextsOrNone } from "./fields.ts";
import { asksOf, CurrentCpu, CurrentMemory, guestShape } from "./guest.ts";

/**
 * Returns whether the guest leaves for (`Sends`) or comes from (`Receives`) another namespace or cluster. Returns
 * undefined if it does neither or both. In an ordinary migration, it does neither.
 */
export function decentralized(sends: boolean, receives: boolean): "Sends" | "Receives" | undefined {
  if (sends === receives) return undefined;
  return sends ? "Sends" : "Receives";
}

/** The guest runs on the target after post-copy has started, or as soon as its domain is ready on the target. */
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
    const continues = state.endTimestamp === undefined && state.failed !== true;
    const isInProgress = continues && state.completed !== true;
    const isSending = isInProgress && targetState.syncAddress !== undefined;
    const isOnTarget = state.mode === "PostCopy" || state.targetNodeDomainReadyTimestamp !== undefined;
    return {
      // When the VM moves to another namespace or cluster, the migration has no UID before the other side has answered.
      isMigrating: isInProgress && !(isSending && migrationUid === undefined),
      isSending,
      guestOnTarget: continues && isOnTarget,
      // The target node of a migration to another cluster is a node of that cluster.
      targetNode: isInProgress && !isSending ? state.targetNode : undefined,
      movedAt: movedAt(state),
      movedInSeconds: movedInSeconds(state),
      lastMigration: lastMigration(migrationUid, failureReason),
    };
  },
);

function lastMigration(uid: string | undefined, failureReason: string | undefined): VmiFacts["lastMigration"] {
  return uid === undefined ? undefined : present({ uid, failureReason });
}

interface Ended {
  readonly sourceNode?: string | undefined;
  readonly targetNode?: string | undefined;
  readonly startTimestamp?: string | undefined;
  readonly endTimestamp?: string | undefined;
  readonly completed?: boolean | null | undefined;
  readonly failed?: boolean | null | undefined;
}

function movedAt({ sourceNode, targetNode, endTimestamp, completed, failed }: Ended): number | undefined {
  if (completed !== true || failed === true || sourceNode === targetNode) return undefined;
  return Date.parse(endTimestamp ?? "") || undefined;
}

function movedInSeconds(state: Ended): number | undefined {
  const ended = movedAt(state);
  return ended === undefined ? undefined : (ended - Date.parse(state.startTimestamp ?? "")) / 1000 || undefined;
}

const LIVE_MIGRATABLE = "LiveMigratable";
/** Upstream: `calculatePausedCondition` of virt-handler. */
const PAUSED = "Paused";
const IO_ERROR = "PausedIOError";

/** Contains only the conditions that rules read. */
const VmiConditions = z.lazy(() =>
  z.pipe(
    z.pipe(
      listOf(z.unknown()),
      z.transform(
        (all): { readonly migratable?: unknown; readonly hotplugs: unknown; readonly pausedByIoError?: unknown } => ({
          migratable: all.find((one) => isOf(one, LIVE_MIGRATABLE)),
          pausedByIoError:
            all.some((one) => isOf(one, PAUSED) && one.status === "True" && one.reason === IO_ERROR) || undefined,
          hotplugs: HOTPLUGS.filter((type) => all.some((one) => isOf(one, type) && one.status === "True")),
        }),
      ),
    ),
    z.object({
      migratable: z.optional(z.object({ status: z.string(), reason: Text, message: Text })),
      hotplugs: z.array(z.enum(HOTPLUGS)),
      pausedByIoError: z.optional(z.literal(true)),
    }),
  ),
);

interface Condition {
  readonly status?: unknown;
  readonly reason?: unknown;
}

function isOf(condition: unknown, type: string): condition is Condition {
  return typeof condition === "object" && condition !== null && "type" in condition && condition.type === type;
}

function withIoThreads(
  vcpus: number | undefined,
  ioThreads: { readonly supplementalPoolThreadCount?: number | null | undefined },
): number | undefined {
  return vcpus === undefined ? undefined : vcpus + (ioThreads.supplementalPoolThreadCount ?? 0);
}

function orAbsent<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

const Some = z.pipe(
  listOf(z.unknown()),
  z.transform(({ length }) => length > 0 || undefined),
);

/** The path of the first hostDisk that is not on shared storage. */
const HostDisk = z.lazy(() =>
  z.pipe(
    listOf(z.object({ hostDisk: z.nullish(z.object({ path: Text, shared: z.nullish(z.boolean()) })) })),
    z.transform((volumes) => volumes.find(({ hostDisk }) => hostDisk && hostDisk.shared !== true)?.hostDisk?.path),
  ),
);

/** The name of the backup in progress. Upstream: `IsBackupInProgress`. */
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
      priorityClassName: Text,
      terminationGracePeriodSeconds: z.nullish(z.number()),
      utilityVolumes: Some,
      volumes: HostDisk,
      ...guestShape(),
    }),
    status: part({
      phase: PhaseText,
      nodeName: Text,
      evacuationNodeName: Text,
      activePods: TextsOrNone,
      conditions: VmiConditions,
      migrationState: z.nullish(MigrationState),
      changedBlockTracking: part({ backupStatus: BackupStatus }),
      currentCPUTopology: CurrentCpu,
      memory: CurrentMemory,
    }),
  }),
  ({ metadata, spec, status: { conditions, migrationState, changedBlockTracking, ...seen } }): VmiFacts => {
    const { currentCPUTopology, memory: currentMemory, ...status } = seen;
    const asks = asksOf(spec);
    const { labels, annotations } = metadata;
    const { status: migratable, reason, message } = conditions.migratable ?? {};
    const { isSending, ...migration } = migrationState ?? {
      isMigrating: false,
      isSending: false,
      guestOnTarget: false,
    };
    return present({
      ...identityOf(metadata),
      ...status,
      ...migration,
      pausedByIoError: conditions.pausedByIoError,
      liveMigratable: present({ migratable: migratable === "True", reason, message }),
      hasLabels: Boolean(labels),
      hasAnnotations: Boolean(annotations),
      guestMemory: asks.guestMemory ?? 0,
      asks,
      currentVcpus: withIoThreads(currentCPUTopology, spec.domain.ioThreads),
      currentMemory,
      hotplugs: orAbsent(conditions.hotplugs),
      priorityClass: spec.priorityClassName,
      backup: changedBlockTracking.backupStatus,
      hasUtilityVolumes: spec.utilityVolumes,
      hostDisk: spec.volumes,
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
