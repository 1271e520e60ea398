/**
 * Tries mutations: first all test files without one, then each mutation with the files that reach it, quickest first,
 * until one fails.
 */
import type { Lane } from "./lane.ts";
import type { Outcome } from "./report.ts";

export interface Survey {
  /** The test files that reach a mutation, quickest first. */
  readonly filesOf: (mutation: number) => readonly string[];
  readonly milliseconds: ReadonlyMap<string, number>;
  /** Fail without a mutation, so they prove nothing here. */
  readonly failing: readonly string[];
}

/** Test files are slower than this only by mistake. */
const LONGEST_MS = 300_000;
/** A mutation may make the tests slower than they were; beyond that it is an endless loop. */
const SLOWER = 3;
const SLACK_MS = 20_000;

export async function survey(lanes: readonly Lane[]): Promise<Survey> {
  const milliseconds = new Map<string, number>();
  const reached = new Map<string, ReadonlySet<number>>();
  const failing: string[] = [];
  await inLanes(lanes, lanes[0]?.files ?? [], async (lane, file) => {
    const run = await lane.run([file], { isolate: true, cpuMilliseconds: LONGEST_MS });
    if (run.failed !== undefined) return failing.push(file);
    milliseconds.set(file, run.milliseconds);
    return reached.set(file, new Set(run.reached));
  });
  const quickestFirst = [...milliseconds].toSorted(([, a], [, b]) => a - b).map(([file]) => file);
  const filesOf = (id: number) => quickestFirst.filter((file) => reached.get(file)?.has(id));
  return { filesOf, milliseconds, failing };
}

/**
 * All files run in one process, which costs a tenth of a process each. One that fails there, but not on its own, failed for
 * what another had left behind: the files after it still have to run.
 */
export async function tryOut(lane: Lane, mutation: number, { filesOf, milliseconds }: Survey): Promise<Outcome> {
  const files = filesOf(mutation);
  const run = async (some: readonly string[]) => {
    const usual = some.reduce((sum, file) => sum + (milliseconds.get(file) ?? 0), 0);
    const cpuMilliseconds = Math.round(usual * SLOWER + SLACK_MS);
    return (await lane.run(some, { mutation, isolate: false, cpuMilliseconds })).failed;
  };
  let left = files;
  while (left.length > 0) {
    const failed = await run(left);
    if (failed === undefined) return { name: "SURVIVED" };
    if (failed === left[0] || (await run([failed])) !== undefined) return { name: "killed", by: failed };
    left = left.filter((file) => file !== failed);
  }
  return { name: files.length === 0 ? "UNREACHED" : "SURVIVED" };
}

/** Each lane takes the next item when it is free. */
export async function inLanes<T>(
  lanes: readonly Lane[],
  items: readonly T[],
  work: (lane: Lane, item: T) => Promise<unknown>,
): Promise<void> {
  const left = items.values();
  await Promise.all(
    lanes.map(async (lane) => {
      for (const item of left) await work(lane, item);
    }),
  );
}
