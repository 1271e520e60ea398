/** Works on many items, a limited number of them at a time. */

/** Returns the results in the order of the items. The first failure ends the work. */
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
