/** Processes many items, with a limited number of items in parallel. */

/** Returns the results in the order of the items. Stops at the first failure. */
export async function inParallel<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  return results;
}

export function numbered(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
