/**
 * About how long a drain takes: waves as KubeVirt's limits allow, and how long one VM takes.
 * Owns: the estimate, always a range. Does not own: KubeVirt's queue.
 */
import type { VmiFacts } from "../facts.ts";
import type { Settings } from "../settings.ts";
import type { DrainTime } from "./result.ts";

const GIB = 1024 ** 3;

/** Without a migration of this cluster to go by: 10 Gbit/s, and the 64 MiB/s that KubeVirt documents as a limit. */
const BYTES_PER_SECOND = { fast: 1.25e9, slow: 64 * 1024 ** 2 };

/** To schedule and start the target pod, and to end the source. */
const AROUND_SECONDS = { least: 10, most: 60 };

/** `seen`: VMIs that have moved. */
export function durationOf(
  moving: readonly VmiFacts[],
  { limits }: Pick<Settings, "limits">,
  seen: readonly VmiFacts[],
): DrainTime | undefined {
  if (moving.length === 0) return undefined;
  const { parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode } = limits;
  const atOnce = Math.max(1, Math.min(parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode));
  const pace = paceOf(seen);
  const memory = moving.map(({ guestMemory = GIB }) => guestMemory);
  return {
    moves: moving.length,
    atOnce,
    waves: Math.ceil(moving.length / atOnce),
    seconds: {
      least: inTurns(
        memory.map((bytes) => AROUND_SECONDS.least + bytes / pace.fast),
        atOnce,
      ),
      most: inTurns(
        memory.map((bytes) => AROUND_SECONDS.most + bytes / pace.slow),
        atOnce,
      ),
    },
    basis: pace.basis,
  };
}

/** The longest first, each where a place is free first: within a third of the best there is. */
function inTurns(seconds: readonly number[], atOnce: number): number {
  const places = Array<number>(atOnce).fill(0);
  for (const each of seconds.toSorted((a, b) => b - a)) {
    const next = places.indexOf(Math.min(...places));
    places[next] = (places[next] ?? 0) + each;
  }
  return Math.ceil(Math.max(...places));
}

function paceOf(seen: readonly VmiFacts[]) {
  const rates = seen.flatMap(({ guestMemory = 0, movedInSeconds = 0 }) => {
    return guestMemory > 0 && movedInSeconds > 0 ? [guestMemory / movedInSeconds] : [];
  });
  if (rates.length === 0) {
    return { ...BYTES_PER_SECOND, basis: "no finished migration to go by: between 64 MiB/s and 10 Gbit/s for each VM" };
  }
  const basis = `as fast as the ${rates.length} VMs on this node that have migrated before, with the memory that they have`;
  return { fast: Math.max(...rates), slow: Math.min(...rates), basis };
}
