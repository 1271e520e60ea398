/** How a drain tells of a change, and how long one is said to take. */
import { expect, test } from "vitest";
import { timeLeft } from "../../../shared/preflight/duration.ts";
import type { Row } from "../../../shared/preflight/subjects.ts";
import { changeLine } from "../../../infra/cli/drain/progress.ts";

const row = (key: string, more: Partial<Row>): Row => {
  return { key, isVm: key.startsWith("VM"), mood: "waiting", words: "runs", ...more };
};
const ROWS = [
  row("VM shop/db", { mood: "gone", words: "moved to node-2 in 41s" }),
  row("VM shop/gpu", { mood: "blocked", words: "blocked: NotMigratable" }),
  row("VM shop/web", { mood: "moving", words: "moves to node-3" }),
  row("pod shop/cart-0", { mood: "gone", words: "evicted" }),
  row("pod shop/job", { mood: "blocked", words: "blocked: Unmanaged" }),
];

test("a line tells what has changed, and how far the whole is where something has gone", () => {
  expect(ROWS.slice(0, 2).map((one) => changeLine(one, ROWS))).toEqual([
    "VM shop/db: moved to node-2 in 41s (1 of 3 VMs gone, 1 of 2 other pods gone)",
    "VM shop/gpu: blocked: NotMigratable",
  ]);
});

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
