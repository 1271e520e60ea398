/** About how long a drain takes, and still takes: waves as KubeVirt's limits allow, and how long one VM takes. */
import { durationText } from "../settings/time.ts";
import type { VmiFacts } from "../kube/facts.ts";
import type { DrainTime, PreflightFacts } from "./facts.ts";

const [MIB, GIB] = [1024 ** 2, 1024 ** 3];

/** Without a migration of this cluster to go by: 10 Gbit/s, and the 64 MiB/s that KubeVirt documents as a limit. */
const BYTES_PER_SECOND = { fast: 1.25e9, slow: 64 * MIB };

/** To schedule and start the target pod, and to end the source. An idle cluster with the image at hand takes few seconds. */
const AROUND_SECONDS = { least: 3, most: 60 };

/** KubeVirt's limits are of the type uint32. */
const LARGEST_LIMIT = 2 ** 32 - 1;

type World = Pick<PreflightFacts, "settings" | "vmis" | "migratingElsewhere">;

export function durationOf(moving: readonly VmiFacts[], w: World): DrainTime | undefined {
  if (moving.length === 0) return undefined;
  const { limits } = w.settings;
  const perCluster = Math.min(LARGEST_LIMIT, Math.max(1, Math.floor(limits.parallelMigrationsPerCluster)));
  const atOnce = Math.max(1, Math.min(perCluster, Math.floor(limits.parallelOutboundMigrationsPerNode)));
  const taken = Math.max(0, atOnce - Math.max(0, perCluster - w.migratingElsewhere.length));
  const pace = paceOf(w);
  const least = moving.map((vmi) => AROUND_SECONDS.least + memoryOf(vmi) / pace.fast);
  const slowest = (vmi: VmiFacts) => AROUND_SECONDS.most + memoryOf(vmi) / pace.slow;
  // As many places as can be in use: a limit may be a number without end.
  const places = Array<number>(Math.min(atOnce, taken + moving.length)).fill(0);
  // VMs of other nodes end at once, at best, and have just started, at worst.
  const before = w.migratingElsewhere.map(slowest).toSorted((a, b) => a - b);
  const atWorst = places.map((free, i) => (i < taken ? (before[i] ?? free) : free));
  return {
    moves: moving.length,
    atOnce,
    waves: Math.ceil((moving.length + taken) / atOnce),
    seconds: { least: inTurns(least, places), most: inTurns(moving.map(slowest), atWorst) },
    basis: [pace.basis, ...(taken > 0 ? [`places taken by VMs of other nodes: ${taken}`] : [])].join("; "),
  };
}

function memoryOf({ guestMemory = GIB }: VmiFacts): number {
  return guestMemory;
}

/** The longest first, each where a place is free first: within a third of the best there is. */
function inTurns(seconds: readonly number[], free: readonly number[]): number {
  const places = [...free];
  for (const each of seconds.toSorted((a, b) => b - a)) {
    const next = places.indexOf(Math.min(...places));
    places[next] = (places[next] ?? 0) + each;
  }
  return Math.ceil(Math.max(...places));
}

/** What was seen was seen under KubeVirt's limit of bandwidth already. */
function paceOf({ settings: { limits }, vmis }: World) {
  const rates = vmis.flatMap(({ guestMemory = 0, movedInSeconds = 0 }) =>
    guestMemory > 0 && movedInSeconds > 0 ? [guestMemory / movedInSeconds] : [],
  );
  if (rates.length > 0) {
    const basis = `based on ${rates.length} earlier migration${rates.length === 1 ? "" : "s"} of VMs on this node`;
    return { fast: Math.max(...rates), slow: Math.min(...rates), basis };
  }
  const limit = limits.bandwidthPerMigration ?? Infinity;
  const [fast, slow] = [Math.min(BYTES_PER_SECOND.fast, limit), Math.min(BYTES_PER_SECOND.slow, limit)];
  const pace = fast === slow ? inWords(fast) : `between ${inWords(slow)} and ${inWords(fast)}`;
  return { fast, slow, basis: `no finished migration to go by: ${pace} for each VM` };
}

function inWords(bytesPerSecond: number): string {
  return bytesPerSecond === BYTES_PER_SECOND.fast ? "10 Gbit/s" : `${Math.round(bytesPerSecond / MIB)} MiB/s`;
}

export function timeText({ moves, atOnce, waves, seconds, basis }: DrainTime): string {
  const [least, most] = [durationText(seconds.least), durationText(seconds.most)];
  const range = least === most ? least : `${least} to ${most}`;
  const inWaves = waves === 1 ? "all at once" : `${atOnce} at a time, in ${waves} waves`;
  return `about ${range} for ${moves} ${moves === 1 ? "VM" : `VMs, ${inWaves}`} (${basis})`;
}

interface Pace {
  /** VMs that this drain has moved, and that are still to move. */
  readonly moved: number;
  readonly left: number;
  readonly elapsedSeconds: number;
}

/** From what the preflight expected until the first VM has moved, then from what this drain has measured. */
export function timeLeft(expected: DrainTime | undefined, { moved, left, elapsedSeconds }: Pace): string | undefined {
  if (left === 0) return undefined;
  if (moved > 0) return `about ${durationText((elapsedSeconds / moved) * left)} left`;
  if (expected === undefined) return undefined;
  const [least, most] = [expected.seconds.least - elapsedSeconds, expected.seconds.most - elapsedSeconds];
  if (most <= 0) return undefined;
  return least <= 0
    ? `at most ${durationText(most)} left`
    : `about ${durationText(least)} to ${durationText(most)} left`;
}
