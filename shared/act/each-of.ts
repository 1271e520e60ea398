/** Work on many items, a few at a time. */

/** The platform allows six connections. Some stay free for reviews. */
const AT_A_TIME = 4;

/** Runs the work on every item, a few at a time, as long as `isTime`; all must be safe to lose. */
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

/** The golden ratio: starts that are so far apart are spread evenly, however many items there are. */
const STEP = (Math.sqrt(5) - 1) / 2;

/** Starts at another item every minute: those that used up the time of one tick are not the first of the next. */
export function rotated<T>(items: readonly T[], now: Date): readonly T[] {
  const turns = Math.floor(now.getTime() / 60_000) * STEP;
  const first = Math.floor((turns % 1) * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}
