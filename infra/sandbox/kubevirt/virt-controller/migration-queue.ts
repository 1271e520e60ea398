/**
 * Determines which pending migration may create its target pod. KubeVirt's limits and the back-off can delay a
 * migration.
 */
import * as kubevirt from "../resources.ts";
import type { Expectations } from "./expectations.ts";
import { isTargetOf } from "./launcher-pod.ts";
import { currentPod, isActive, newestFirst, type World } from "./world.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

export type Turn =
  | { readonly turn: "Now" }
  | { readonly turn: "Later"; readonly afterMs?: number; readonly reason?: "MigrationBackoff" };

// prettier-ignore
const PRIORITY = {
  //                     rank  reconciled again after
  "system-critical":    { rank: 100, againMs: 1_000 },
  "user-triggered":     { rank: 50,  againMs: 3_000 },
  "system-maintenance": { rank: 20,  againMs: 5_000 },
  none:                 { rank: 0,   againMs: 5_000 },
} as const;

const DEFAULT_PER_CLUSTER = 5;
const DEFAULT_OUTBOUND_PER_NODE = 2;
const ONE_AT_A_TIME: Turn = { turn: "Later", afterMs: 1_000 };

export interface Queue {
  readonly world: World;
  readonly created: Expectations;
  /** KubeVirt's back-off after the first failure, in milliseconds. It doubles with each failure. */
  readonly backoffMs: number;
  readonly now: Date;
}

export function turnOf(migration: Migration, vmi: Vmi, queue: Queue): Turn {
  const { world, created, now } = queue;
  const backoff = skipsBackoff(migration) ? 0 : backoffOf(migration, queue) - now.getTime();
  if (backoff > 0) return { turn: "Later", afterMs: backoff, reason: "MigrationBackoff" };
  const launchers = world.podsOf(vmi);
  // No retry is planned, because a change of the VMI or its pods starts the next reconcile.
  if (currentPod(vmi, launchers) === undefined) return { turn: "Later" };
  if (!created.areAllMet() || launchers.filter(isActive).length > 1) return ONE_AT_A_TIME;
  if (!isWithinLimits(vmi, world)) return { turn: "Later", afterMs: priorityOf(migration).againMs };
  return { turn: vmi.status?.phase === "Running" ? "Now" : "Later" };
}

/** Returns the pending migrations to reconcile after another migration has ended. */
export function nextInLine(world: World): readonly Migration[] {
  const pending = world.unfinished().filter(({ status }) => status?.phase === "Pending");
  const byPriority = pending.toSorted((a, b) => priorityOf(b).rank - priorityOf(a).rank);
  return byPriority.slice(0, limits(world).perCluster);
}

function priorityOf({ spec }: Migration) {
  return PRIORITY[(spec.priority ?? "none") as keyof typeof PRIORITY];
}

function limits(world: World): { readonly perCluster: number; readonly outboundPerNode: number } {
  const { migrations = {} } = world.configuration();
  return {
    perCluster: migrations.parallelMigrationsPerCluster ?? DEFAULT_PER_CLUSTER,
    outboundPerNode: migrations.parallelOutboundMigrationsPerNode ?? DEFAULT_OUTBOUND_PER_NODE,
  };
}

function isWithinLimits({ status }: Vmi, world: World): boolean {
  const { perCluster, outboundPerNode } = limits(world);
  const running = world.unfinished().filter((migration) => isStarted(migration, world));
  const fromHere = running.filter((migration) => {
    const { nodeName, migrationState } = vmiOf(migration, world)?.status ?? {};
    return [nodeName, migrationState?.sourceNode].includes(status?.nodeName);
  });
  return running.length < perCluster && fromHere.length < outboundPerNode;
}

const NOT_STARTED: readonly string[] = ["", "Pending", "WaitingForSync", "Synchronizing"];

/**
 * Returns true if the migration has left the phases in NOT_STARTED, or has a target pod. KubeVirt's limits count only
 * such migrations.
 */
function isStarted(migration: Migration, world: World): boolean {
  const phase = migration.status?.phase ?? "";
  if (!NOT_STARTED.includes(phase)) return true;
  const vmi = vmiOf(migration, world);
  return vmi !== undefined && world.podsOf(vmi).some((pod) => isTargetOf(pod, migration));
}

function vmiOf({ metadata, spec }: Migration, world: World): Vmi | undefined {
  return world.vmis.get(`${metadata.namespace}/${spec.vmiName}`);
}

/**
 * Returns the end of the back-off, in milliseconds since 1970. The back-off doubles with each consecutive failure.
 * Migrations that users create have no back-off.
 */
function backoffOf(migration: Migration, { world, backoffMs }: Queue): number {
  const [newest, previous, ...older] = world
    .migrationsOf(`${migration.metadata.namespace}/${migration.spec.vmiName}`)
    .filter(isAutomatic)
    .toSorted(newestFirst);
  if (newest?.metadata.uid !== migration.metadata.uid || previous === undefined) return 0;
  const before = [previous, ...older];
  const success = before.findIndex(({ status }) => status?.phase === "Succeeded");
  const failures = (success < 0 ? before : before.slice(0, success)).filter(
    ({ metadata, status }) => status?.phase === "Failed" && metadata.deletionTimestamp === undefined,
  );
  const { phaseTransitionTimestamps = [] } = previous.status ?? {};
  const failedAt = phaseTransitionTimestamps.find(({ phase }) => phase === "Failed")?.phaseTransitionTimestamp;
  if (failedAt === undefined || failures.length === 0) return 0;
  return Date.parse(failedAt) + backoffMs * 2 ** (failures.length - 1);
}

/** Returns true if the migration ignores the back-off. Its failure still lengthens the back-off of later migrations. */
function skipsBackoff({ metadata: { annotations = {} } }: Migration): boolean {
  return kubevirt.ANNOTATION.ignoreMigrationBackoff in annotations;
}

function isAutomatic({ metadata }: Migration): boolean {
  const { annotations = {} } = metadata;
  return (
    kubevirt.ANNOTATION.evacuationMigration in annotations || kubevirt.ANNOTATION.workloadUpdateMigration in annotations
  );
}
