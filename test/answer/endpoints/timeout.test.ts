/** Tests how Lifeboat reads the `?timeout=` of the API server, which is a Go duration. */
import { expect, test } from "vitest";
import { timeoutSeconds } from "../../../functions/review.ts";

// prettier-ignore
test.each([
  ["10s",            10],
  ["500ms",          0.5],
  ["1.5s",           1.5],
  ["1m0s",           30],
  ["99999999h",      30],
  [undefined,        10],
  ["",               10],
  ["0s",             10],
  ["5",              10],
])("%s means a timeout of %d s, within the limits of Kubernetes", (query, seconds) => {
  expect(timeoutSeconds(query)).toBe(seconds);
});
