/** What is said of the time that a drain still takes. */
import { expect, test } from "vitest";
import { timeLeft } from "../../../shared/preflight/duration.ts";

const EXPECTED = { moves: 4, atOnce: 2, waves: 2, seconds: { least: 60, most: 300 }, basis: "" };

// prettier-ignore
test.each([
  // moved  left  elapsed  said
  [0,       4,    0,       "about 60s to 5m left"],
  [0,       4,    100,     "at most 3m20s left"],
  [0,       4,    400,     undefined],
  [1,       3,    30,      "about 90s left"],
  [4,       0,    100,     undefined],
])("%d moved, %d left, after %d s: %s", (moved, left, elapsedSeconds, said) => {
  expect(timeLeft(EXPECTED, { moved, left, elapsedSeconds })).toBe(said);
});
