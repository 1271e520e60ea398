/** A short run of `npm run fuzz`, of the same requests every time: every door keeps its contract, whatever is sent to it. */
import { expect, test } from "vitest";
import { DOORS } from "./visit.ts";
import { visitWorker } from "./worker.ts";

const SEED = 20_261_120;
const VISITS = 300;

test("no answer is outside the contract, and every door is opened to some and closed to others", async () => {
  const reached = await DOORS.check({ seed: SEED, numRuns: VISITS });
  expect(DOORS.reaches.filter((outcome) => !reached.has(outcome))).toEqual([]);
});

test("nor is one of the bundled Worker in workerd", async () => {
  const reached = await visitWorker(160, SEED);
  expect([...reached.values()].reduce((sum, n) => sum + n, 0)).toBeGreaterThan(150);
});

test("the same seed is the same run", async () => {
  const few = { seed: SEED, numRuns: 20 };
  expect(await DOORS.check(few)).toEqual(await DOORS.check(few));
});
