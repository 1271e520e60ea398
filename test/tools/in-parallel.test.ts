/** A bounded number of pieces of work at a time. */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { inParallel, numbered } from "../../infra/tools/in-parallel.ts";

test("results keep the order of the items", async () => {
  expect(await inParallel([0, 1, 2, 3], 4, later)).toEqual([0, 10, 20, 30]);
});

test.each([1, 3, 100])("no more than %d run at once, and no fewer if there are enough", async (concurrency) => {
  let [running, most] = [0, 0];
  await inParallel(numbered(10), concurrency, async () => {
    most = Math.max(most, ++running);
    await setImmediate();
    running -= 1;
  });
  expect(most).toBe(Math.min(concurrency, 10));
});

test("a failure ends it", async () => {
  await expect(inParallel([1], 2, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
});

/** The earlier the item, the later it is done. */
async function later(item: number): Promise<number> {
  for (let turn = item; turn < 4; turn++) await setImmediate();
  return item * 10;
}
