/** Works on many items, a few at a time. */

/**
 * The number of items at a time. Cloudflare allows a Worker six connections, and some must stay free for admission
 * reviews.
 */
const AT_A_TIME = 4;

/** Runs the work on every item, a few at a time, while `isTime` returns true. Counts the items that remain. */
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

/** The part of the list by which the start moves each minute. The golden ratio spreads the starts evenly. */
const STEP = (Math.sqrt(5) - 1) / 2;

/**
 * Rotates the list, so that each minute starts with another item. Slow items at the start of a tick come later in the
 * next tick.
 */
export function rotated<T>(items: readonly T[], now: Date): readonly T[] {
  const turns = Math.floor(now.getTime() / 60_000) * STEP;
  const first = Math.floor((turns % 1) * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}
