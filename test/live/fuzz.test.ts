/** A short run of `npm run fuzz` with the bundled Worker: whatever is sent to it, every door keeps its contract. */
import { expect, test } from "vitest";
import { LONG } from "../answer/fuzz/property.ts";
import { visitWorker } from "./fuzz.ts";

test("no answer of the bundled Worker in workerd is outside the contract", LONG, async () => {
  const reached = await visitWorker(160);
  expect([...reached.values()].reduce((sum, n) => sum + n, 0)).toBeGreaterThan(150);
});
