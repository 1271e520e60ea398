/** How many victims of one preemption kube-scheduler deletes at the same time, and what it does after an error. */
import { describe, expect, test } from "vitest";
import { inChunks } from "../../actors/parallelize.ts";

const { signal } = new AbortController();
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

/** Works on everything, in waves: each ends when nothing more starts. */
async function wavesOf(count: number): Promise<readonly (readonly number[])[]> {
  const waves: number[][] = [];
  let open: { readonly item: number; readonly end: () => void }[] = [];
  const work = (item: number) => new Promise<void>((resolve) => void open.push({ item, end: resolve }));
  let isDone = false;
  const all = inChunks(numbers(count), work, signal).then(() => (isDone = true));
  while (open.length > 0) {
    const wave = open;
    open = [];
    waves.push(wave.map(({ item }) => item));
    for (const { end } of wave) end();
    await new Promise(setImmediate);
  }
  await all;
  expect(isDone).toBe(true);
  return waves;
}

describe("in parallel", () => {
  // prettier-ignore
  test.each<[count: number, waves: readonly number[]]>([
    [0,  []],
    [1,  [1]],
    [11, [11]],
    [15, [15]],
    [16, [8, 8]],
    [39, [13, 13, 13]],
  ])("%i: %j", async (count, waves) => expect((await wavesOf(count)).map(({ length }) => length)).toEqual(waves));

  test("neighbours follow each other", async () => expect((await wavesOf(16))[1]).toEqual([1, 3, 5, 7, 9, 11, 13, 15]));
});

test("after an error nothing more starts", async () => {
  const round = new AbortController();
  const started: number[] = [];
  await inChunks(
    numbers(16),
    async (item) => {
      started.push(item);
      if (item === 2) round.abort();
      await Promise.resolve();
    },
    round.signal,
  );
  expect(started).not.toContain(3);
  expect(started.length).toBeLessThan(16);
});
