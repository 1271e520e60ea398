/**
 * Runs work in parallel as kube-scheduler does, with 16 workers. Each worker runs one chunk of items at a time. With n
 * items, the size of a chunk is the smaller of √n and n/16 + 1, rounded down. For example, 39 items form 13 chunks of
 * three. Upstream: kubernetes 1.36 `pkg/scheduler/framework/parallelize/parallelism.go`, client-go
 * `util/workqueue/parallelizer.go`.
 */
const WORKERS = 16;

/**
 * Runs the work for each item. After the signal is aborted, starts no more work. Resolves when all started work is
 * done.
 */
export async function inChunks<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const size = chunkSizeOf(items.length);
  const chunks = Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );
  const worker = async (): Promise<void> => {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift())
      for (const item of chunk) if (!signal.aborted) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(WORKERS, chunks.length) }, worker));
}

function chunkSizeOf(items: number): number {
  return Math.max(1, Math.min(Math.floor(Math.sqrt(items)), Math.floor(items / WORKERS) + 1));
}
