/**
 * Estimates how long it takes until all VMs have left a node. The estimate uses finished migrations of this cluster and
 * the number of VMs that may move at a time.
 */
import type { VmiFacts } from "../kube/facts.ts";
import { keyOf } from "../kube/objects.ts";
import type { DrainTime, PreflightFacts } from "./facts.ts";
import { PREFLIGHT_MESSAGES as MESSAGES } from "./messages.ts";

type Seconds = DrainTime["seconds"];
type Timed = Pick<PreflightFacts, "settings" | "flags" | "vmis" | "finished">;

const [MIB, GIB] = [1024 ** 2, 1024 ** 3];

/**
 * A successful migration, with the guest's memory and the seconds from the creation of the target pod to the end of the
 * migration.
 */
export interface FinishedMigration {
  readonly key: string;
  readonly memory: number;
  readonly seconds: number;
}

export function durationOf(moving: readonly VmiFacts[], f: Timed): DrainTime | undefined {
  if (moving.length === 0) return undefined;
  const { parallelMigrationsPerCluster: all, parallelOutboundMigrationsPerNode: outbound } = f.settings.limits;
  const atOnce = Math.max(1, Math.floor(Math.min(all, outbound, f.flags.concurrency ?? Infinity)));
  const seen = seenIn(moving, f);
  const { seconds, basis } = seen.length > 0 ? asBefore(moving, seen, atOnce) : byPace(moving, f, atOnce);
  return { moves: moving.length, atOnce, seconds, basis };
}

const NEWEST = 50;

/**
 * Returns the newest finished migration of each VM. If the memory of a VM is unknown, uses the average memory of the
 * moving VMs.
 */
export function seenIn(
  moving: readonly VmiFacts[],
  { vmis, finished }: Pick<Timed, "vmis" | "finished">,
): readonly FinishedMigration[] {
  const usual = mean(moving.map(memoryOf));
  const memory = new Map(vmis.map((vmi) => [keyOf(vmi), memoryOf(vmi)]));
  const oldestFirst = finished.toSorted((a, b) => a.createdAt - b.createdAt);
  const newest = new Map(
    oldestFirst.flatMap(({ namespace, vmiName, tookSeconds }) => {
      const key = keyOf({ namespace, name: vmiName });
      return tookSeconds === undefined
        ? []
        : [[key, { key, memory: memory.get(key) ?? usual, seconds: tookSeconds }] as const];
    }),
  );
  return [...newest.values()].slice(-NEWEST);
}

/** KubeVirt needs about this long to create the first migration. */
const START_SECONDS = 3;
/** The lower and the upper bound of the estimate, as factors of the likely duration. */
const RANGE = { least: 2 / 3, most: 4 / 3 };
const POLL_SECONDS = 5;

function asBefore(moving: readonly VmiFacts[], seen: readonly FinishedMigration[], atOnce: number) {
  const bySize = sizeLine(seen);
  const own = new Map(seen.map(({ key, seconds }) => [key, seconds]));
  const likely =
    START_SECONDS +
    span(
      moving.map((vmi) => own.get(keyOf(vmi)) ?? bySize(memoryOf(vmi))),
      atOnce,
    );
  const seconds: Seconds = {
    least: Math.ceil(likely * RANGE.least),
    most: Math.ceil(likely * RANGE.most + POLL_SECONDS),
  };
  return { seconds, basis: MESSAGES.basedOn(seen.length) };
}

/**
 * Returns a function that estimates the seconds of a migration from the guest's memory. The function is linear and
 * fitted to the observed migrations. If all observed guests have the same size, the function treats half of the time as
 * constant, and half as proportional to memory.
 */
export function sizeLine(seen: readonly FinishedMigration[]): (memory: number) => number {
  const [memory, seconds] = [mean(seen.map((one) => one.memory)), mean(seen.map((one) => one.seconds))];
  const sum = (of: (one: FinishedMigration) => number) => seen.reduce((total, one) => total + of(one), 0);
  const weight = memory ** 2;
  const assumed = (weight * seconds) / 2 / memory;
  const along = sum((one) => (one.memory - memory) * (one.seconds - seconds));
  const across = sum((one) => (one.memory - memory) ** 2);
  const slope = Math.min(seconds / memory, Math.max(0, (along + assumed) / (across + weight)));
  return (of) => seconds + slope * (of - memory);
}

/**
 * Returns the total time if `atOnce` VMs move at the same time, and the next VM starts to move when one of them has
 * finished.
 */
export function span(times: readonly number[], atOnce: number): number {
  const places = Array.from({ length: Math.min(atOnce, times.length) }, () => 0);
  for (const seconds of times) {
    const first = places.indexOf(Math.min(...places));
    places[first] = (places[first] ?? 0) + seconds;
  }
  return Math.max(0, ...places);
}

const BYTES_PER_SECOND = { fast: 1.25e9, slow: 64 * MIB };

/**
 * Seconds to schedule and start the target pod and to delete the source pod. An idle cluster that has already pulled
 * the image needs only a few seconds.
 */
const AROUND_SECONDS = { least: 3, most: 60 };

function byPace(moving: readonly VmiFacts[], { settings: { limits } }: Timed, atOnce: number) {
  const limit = limits.bandwidthPerMigration ?? Infinity;
  const [fast, slow] = [Math.min(BYTES_PER_SECOND.fast, limit), Math.min(BYTES_PER_SECOND.slow, limit)];
  const at = (around: number, pace: number) => {
    return Math.ceil(
      span(
        moving.map((vmi) => around + memoryOf(vmi) / pace),
        atOnce,
      ),
    );
  };
  const seconds: Seconds = { least: at(AROUND_SECONDS.least, fast), most: at(AROUND_SECONDS.most, slow) };
  return { seconds, basis: MESSAGES.basedOnPace(inWords(slow), inWords(fast)) };
}

/** Returns the guest memory in bytes. Assumes 1 GiB if the VM has no guest memory in its spec. */
function memoryOf({ guestMemory = 0 }: VmiFacts): number {
  return guestMemory > 0 ? guestMemory : GIB;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function inWords(bytesPerSecond: number): string {
  return bytesPerSecond === BYTES_PER_SECOND.fast ? "10 Gbit/s" : `${Math.round(bytesPerSecond / MIB)} MiB/s`;
}
