/** When an answer matches the recorded one. */
import { expect, test } from "vitest";
import { matches, matchesCut } from "./matching.ts";

const rows: readonly (readonly [recorded: unknown, seen: unknown, boolean])[] = [
  ["a", "a", true],
  ["a", "ab", false],
  ["a.c", "abc", false],
  ["limit is <n>", "limit is 3145728", true],
  ["limit is <n>", "limit is none", false],
  ["<nil>: b", "<nil>: b", true],
  ["begin ... end", "begin of a long end", true],
  ["299 - w*300", `299 - ${"w".repeat(300)}`, true],
  [null, undefined, true],
  [null, "", false],
  [1, "1", false],
  [["a"], ["a", "b"], false],
  [{ a: "1" }, { a: "1" }, true],
  [{ a: "1" }, { a: "1", b: "2" }, false],
  [{ a: null }, {}, true],
];

test.each(rows)("%j, seen %j: %s", (recorded, seen, expected) => expect(matches(recorded, seen)).toBe(expected));

const cut: readonly (readonly [recorded: string, seen: string, boolean])[] = [
  ["0123456789", "0123456789 and more", true],
  ["0123456789", "more and 0123456789", true],
  ["0123456789", "more 0123456789 more", false],
  ["012345678", "0123456789", false],
];

test.each(cut)("%s, perhaps cut, seen %s: %s", (recorded, seen, expected) =>
  expect(matchesCut(recorded, seen)).toBe(expected),
);
