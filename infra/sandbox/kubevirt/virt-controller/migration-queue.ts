/**
 * Which pending migration may start now: one per VMI, within the cluster's limits, after its back-off, by priority.
 * Owns: the order and the waiting. Does not own: starting it (migration.ts).
 */
import { isTrue } from "../../actors/conditions.ts";
import { keyOf } from "../../actors/resources.ts";
import * as kubevirt from "../resources.ts";
import { isActive, newestFirst, type World } from "./world.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

export type Turn =
  { readonly turn: "Now" } | { readonly turn: "Later"; readonly afterMs: number; readonly reason?: "MigrationBackoff" };

// prettier-ignore
const PRIORITY = {
  //                     rank  looked at again after
  "system-critical":    { rank: 100, againMs: 1_000 },
  "user-triggered":     { rank: 50,  againMs: 3_000 },
  "system-maintenance": { rank: 20,  againMs: 5_000 },
  none:                 { rank: 0,   againMs: 5_000 },
} as const;

const DEFAULT_PER_CLUSTER = 5;
const DEFAULT_OUTBOUND_PER_NODE = 2;

export interface Queue {
  readonly world: World;
  /** Migrations whose target pod was created and is not yet seen. */
  readonly starting: ReadonlySet<string>;
  /** KubeVirt's pause after a first failure; doubles. */
  readonly backoffMs: number;
  readonly now: Date;
}

export function turnOf(migration: Migration, vmi: Vmi, queue: Queue): Turn {
  const { world } = queue;
  const { againMs } = priorityOf(migration);
  const later: Turn = { turn: "Later", afterMs: againMs };
  if (vmi.status?.phase !== "Running" || !isTrue(vmi.status.conditions, "LiveMigratable")) return later;
  const backoff = backoffOf(migration, queue) - queue.now.getTime();
  if (backoff > 0) return { turn: "Later", afterMs: backoff, reason: "MigrationBackoff" };
  const busy = world.podsOf(vmi).filter(isActive).length > 1;
  if (busy || !isFirst(migration, vmi, world) || !isWithinLimits(migration, vmi, queue)) return later;
  return { turn: "Now" };
}

function priorityOf({ spec }: Migration) {
  return PRIORITY[(spec.priority ?? "none") as keyof typeof PRIORITY];
}

/** Among the unfinished migrations of one VMI, the oldest. */
function isFirst(migration: Migration, vmi: Vmi, world: World): boolean {
  const others = world.migrationsOf(keyOf(vmi)).filter(({ status }) => !kubevirt.isFinal(status));
  return others.every((other) => other.metadata.uid === migration.metadata.uid || isBefore(migration, other));
}

function isBefore(a: Migration, b: Migration): boolean {
  const [first, second] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp} ${metadata.uid}`);
  return (first ?? "") < (second ?? "");
}

function isWithinLimits(migration: Migration, vmi: Vmi, queue: Queue): boolean {
  const { world, now } = queue;
  const {
    parallelMigrationsPerCluster = DEFAULT_PER_CLUSTER,
    parallelOutboundMigrationsPerNode = DEFAULT_OUTBOUND_PER_NODE,
  } = world.configuration().migrations ?? {};
  const unfinished = [...world.migrations.list()].filter(({ status }) => !kubevirt.isFinal(status));
  const running = unfinished.filter((other) => isStarted(other, queue));
  const fromHere = running.filter((other) => nodeOf(other, world) === vmi.status?.nodeName);
  const waiting = unfinished.filter((other) => !running.includes(other) && backoffOf(other, queue) <= now.getTime());
  // The others of this VMI wait for this one, whatever their priority.
  const elsewhere = waiting.filter(({ spec, metadata }) => `${metadata.namespace}/${spec.vmiName}` !== keyOf(vmi));
  const ahead = elsewhere.filter((other) => priorityOf(other).rank > priorityOf(migration).rank);
  const aheadHere = ahead.filter((other) => nodeOf(other, world) === vmi.status?.nodeName);
  return (
    running.length + ahead.length < parallelMigrationsPerCluster &&
    fromHere.length + aheadHere.length < parallelOutboundMigrationsPerNode
  );
}

/** Counts against the limits: past Pending, or its target pod is there already. */
function isStarted(migration: Migration, { world, starting }: Queue): boolean {
  const phase = migration.status?.phase ?? "";
  if ((phase !== "" && phase !== "Pending") || starting.has(migration.metadata.uid)) return true;
  const vmi = world.vmis.get(`${migration.metadata.namespace}/${migration.spec.vmiName}`);
  if (vmi === undefined) return false;
  return world
    .podsOf(vmi)
    .some((pod) => pod.metadata.labels?.[kubevirt.LABEL.migrationJobUID] === migration.metadata.uid);
}

function nodeOf({ metadata, spec }: Migration, world: World): string | undefined {
  return world.vmis.get(`${metadata.namespace}/${spec.vmiName}`)?.status?.nodeName;
}

/** A pause after the last failure, doubled for every failure in a row; only for migrations nobody asked for in person. */
function backoffOf(migration: Migration, { world, backoffMs }: Queue): number {
  if (!isAutomatic(migration)) return 0;
  const finished = world
    .migrationsOf(`${migration.metadata.namespace}/${migration.spec.vmiName}`)
    .filter(({ status }) => kubevirt.isFinal(status))
    .toSorted(newestFirst);
  const success = finished.findIndex(({ status }) => status?.phase === "Succeeded");
  const failures = (success < 0 ? finished : finished.slice(0, success)).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
  const [latest] = failures;
  if (latest === undefined || !isAutomatic(latest)) return 0;
  const failedAt = latest.status?.phaseTransitionTimestamps?.find(({ phase }) => phase === "Failed");
  if (failedAt === undefined) return 0;
  return Date.parse(failedAt.phaseTransitionTimestamp) + backoffMs * 2 ** (failures.length - 1);
}

function isAutomatic({ metadata }: Migration): boolean {
  const { annotations = {} } = metadata;
  return (
    kubevirt.ANNOTATION.evacuationMigration in annotations || kubevirt.ANNOTATION.workloadUpdateMigration in annotations
  );
}
