/** About how long a drain takes: waves as KubeVirt's limits allow, and how long one VM takes. */
import type { VmiFacts } from "../facts.ts";
import type { PreflightFacts } from "./facts.ts";
import type { DrainTime } from "./result.ts";

const [MIB, GIB] = [1024 ** 2, 1024 ** 3];

/** Without a migration of this cluster to go by: 10 Gbit/s, and the 64 MiB/s that KubeVirt documents as a limit. */
const BYTES_PER_SECOND = { fast: 1.25e9, slow: 64 * MIB };

/** To schedule and start the target pod, and to end the source. An idle cluster with the image at hand takes few seconds. */
const AROUND_SECONDS = { least: 3, most: 60 };

type World = Pick<PreflightFacts, "settings" | "vmis" | "migratingElsewhere">;

export function durationOf(moving: readonly VmiFacts[], w: World): DrainTime | undefined {
  if (moving.length === 0) return undefined;
  const places = placesOf(w);
  const pace = paceOf(w);
  const least = moving.map((vmi) => AROUND_SECONDS.least + memoryOf(vmi) / pace.fast);
  const slowest = (vmi: VmiFacts) => AROUND_SECONDS.most + memoryOf(vmi) / pace.slow;
  // Those of other nodes end at once, at best, and have just begun, at worst.
  const before = w.migratingElsewhere.map(slowest).toSorted((a, b) => a - b);
  // As many places as can be in use: a limit may be a number without end.
  const length = Math.min(places.atOnce, places.taken + moving.length);
  return {
    moves: moving.length,
    atOnce: places.atOnce,
    waves: Math.ceil((moving.length + places.taken) / places.atOnce),
    seconds: {
      least: inTurns(least, Array<number>(length).fill(0)),
      most: inTurns(
        moving.map(slowest),
        Array.from({ length }, (_, i) => (i < places.taken ? (before[i] ?? 0) : 0)),
      ),
    },
    basis: [pace.basis, ...(places.taken > 0 ? [`places taken by VMs of other nodes: ${places.taken}`] : [])].join(
      "; ",
    ),
  };
}

/** KubeVirt's limits are of the type uint32. */
const LARGEST_LIMIT = 2 ** 32 - 1;

/** How many VMs may leave the node at a time, and how many of those places VMs of other nodes take up now. */
function placesOf({ settings: { limits }, migratingElsewhere }: World) {
  const perCluster = Math.min(LARGEST_LIMIT, Math.max(1, Math.floor(limits.parallelMigrationsPerCluster)));
  const atOnce = Math.max(1, Math.min(perCluster, Math.floor(limits.parallelOutboundMigrationsPerNode)));
  const free = Math.max(0, perCluster - migratingElsewhere.length);
  return { atOnce, taken: Math.max(0, atOnce - free) };
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
  const rates = vmis.flatMap(({ guestMemory = 0, movedInSeconds = 0 }) => {
    return guestMemory > 0 && movedInSeconds > 0 ? [guestMemory / movedInSeconds] : [];
  });
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
