/** How a drain looks on a terminal of any width, and how long it says it takes. */
import { array, assert, constantFrom, double, integer, property, record, string } from "fast-check";
import { expect, test } from "vitest";
import { timeLeft } from "../../shared/policy/preflight/duration.ts";
import { changeLine, frameLines, type ViewedRow } from "../../infra/cli/drain/progress.ts";

const row = (key: string, more: Partial<ViewedRow>): ViewedRow => {
  return { key, isVm: key.startsWith("VM"), mood: "waiting", stage: 0, words: "runs", seconds: 5, ...more };
};
const ROWS = [
  row("VM shop/db", { mood: "gone", stage: 1, words: "moved to node-2 in 41s" }),
  row("VM shop/gpu", { mood: "blocked", words: "blocked: NotMigratable", seconds: 130 }),
  row("VM shop/web", { mood: "moving", stage: 0.7, words: "moves to node-3" }),
  row("pod shop/cart-0", { mood: "gone", stage: 1, words: "evicted" }),
  row("pod shop/job", { mood: "blocked", words: "blocked: Unmanaged" }),
];

test("progress and time left, then a bar for each VM, those that are gone last; of the other pods what blocks", () => {
  const frame = { node: "node-1", rows: ROWS, timeLeft: "about 40s left" };
  expect(frameLines(frame, 80, (text) => text)).toEqual([
    "node-1: 1 of 3 VMs gone, 1 of 2 other pods gone · about 40s left",
    "  ░░░░░░░░░░░░  shop/gpu      blocked: NotMigratable  2m10s",
    "  ████████░░░░  shop/web      moves to node-3  5s",
    "  ░░░░░░░░░░░░  pod shop/job  blocked: Unmanaged  5s",
    "  ████████████  shop/db       moved to node-2 in 41s",
  ]);
});

test("no line is wider than the terminal, nothing that a cluster says moves the cursor", () => {
  const rows = array(
    record({
      key: string().map((text) => `VM shop/${text.replaceAll(/\p{Cc}/gu, "")}`),
      isVm: constantFrom(true, false),
      mood: constantFrom("waiting", "moving", "blocked", "gone"),
      stage: double({ min: 0, max: 1, noNaN: true }),
      words: string({ unit: "binary" }),
      seconds: integer({ min: 0, max: 1e6 }),
    }),
  );
  assert(
    property(rows, integer({ min: 10, max: 200 }), (shown, width) => {
      for (const line of frameLines({ node: "node-1", rows: shown }, width, (text) => text)) {
        expect(line.length).toBeLessThanOrEqual(width);
        for (const control of ["\u001B", "\u009B", "\r"]) expect(line).not.toContain(control);
      }
    }),
  );
});

test("without a terminal a line tells what has changed, and how far the whole is where something has gone", () => {
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
