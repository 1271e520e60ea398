/**
 * Sends the requests of `npm run fuzz` over a network for a short time. Every endpoint of the Worker and of the
 * in-cluster server must answer any request as specified.
 */
import { expect, test } from "vitest";
import { LONG } from "../answer/fuzz/property.ts";
import { openListener, openWorker, visit } from "./fuzz.ts";

test.each([
  ["the bundled Worker in workerd", openWorker],
  ["the listener in the cluster", openListener],
])("every answer of %s keeps the endpoint's contract", LONG, async (_, open) => {
  const reached = await visit(open, 80);
  expect([...reached.values()].reduce((sum, n) => sum + n, 0)).toBeGreaterThan(60);
});
