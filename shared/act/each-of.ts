/** Works on the items of a list, several at the same time. */

/**
 * The number of parallel items. Cloudflare allows six connections for a Worker, and admission reviews need some of
 * them.
 */
const AT_A_TIME = 4;

/**
 * Works on every item, at most `AT_A_TIME` in parallel. Stops when `isTime` returns false, and counts the remaining
 * items.
 */
export async function eachOf<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  isTime = () => true,
): Promise<{ readonly results: readonly R[]; readonly left: number }> {
  const results: R[] = [];
  const queue = items.values();
  let left = 0;
  const worker = async () => {
    for (const item of queue) {
      if (isTime()) results.push(await work(item));
      else left += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, items.length) }, worker));
  return { results, left };
}

/**
 * Every minute, the position of the first item moves by this fraction of the list's length. The golden ratio
 * distributes the positions evenly.
 */
const STEP = (Math.sqrt(5) - 1) / 2;

/** Rotates the list, so that the first item is different every minute. */
export function rotated<T>(items: readonly T[], now: Date): readonly T[] {
  const turns = Math.floor(now.getTime() / 60_000) * STEP;
  const first = Math.floor((turns % 1) * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}
