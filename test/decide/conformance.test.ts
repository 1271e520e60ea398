/**
 * Tests CONFORMANCE.md. Each requirement of the five proposals must refer to an existing test or to an existing heading
 * of a document, or give a reason why Lifeboat does not implement it.
 */
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The number of requirements of each proposal. A requirement's ID starts with the letter of its proposal. */
const DEMANDS = { E: 23, N: 17, D: 12, V: 17, K: 25 } as const;
const MOST_REASONS = 20;
const STATES: readonly string[] = ["done", "differently", "in part", "not done"];

const ROOT = new URL("../../", import.meta.url);

function read(path: string): string {
  const url = new URL(path, ROOT);
  return existsSync(url) ? readFileSync(url, "utf8") : "";
}

const TEXT = read("CONFORMANCE.md");
const ROWS = TEXT.split("\n").flatMap((line) => {
  const [, id = "", asks = "", state = "", text = "", shownBy = ""] = line.split("|").map((cell) => cell.trim());
  return /^[A-Z]\d+$/.test(id) ? [{ id, asks, state, text, shownBy }] : [];
});

const TEST = /^\[(.+)\]\((.+\.test\.ts)\): `(.+)`$/;
const HEADING = /^\[.+\]\((.+\.md)#(.+)\)$/;
/** A reason is a sentence. `Out of date` also contains the version that made the requirement obsolete. */
const REASON = /^(?:Not done: .{40,}|Out of date: .*\d\.\d+.*)\.$/;

/** Returns true if the file has a test, a group of tests or a table row with this title. */
function hasTitle(file: string, title: string): boolean {
  const literal = title.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  const begins = String.raw`(?:(?:test|describe)(?:\.\w+)*\(|\)\(|\[)\s*`;
  return new RegExp(`${begins}(["'\`])${literal}\\1`).test(read(file));
}

function slugsOf(file: string): readonly string[] {
  const headings = [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function problemOf(evidence: string): string | undefined {
  const test = TEST.exec(evidence);
  if (test !== null) return isTest(test) ? undefined : `no such test: ${evidence}`;
  const heading = HEADING.exec(evidence);
  if (heading !== null) return isHeading(heading) ? undefined : `no such heading: ${evidence}`;
  return REASON.test(evidence) ? undefined : `neither a test, nor a heading, nor a reason: "${evidence}"`;
}

function isTest([, named = "", file = "", title = ""]: readonly string[]): boolean {
  return named === file && hasTitle(file, title);
}

function isHeading([, document = "", slug = ""]: readonly string[]): boolean {
  return slugsOf(document).includes(slug);
}

test("CONFORMANCE.md has all demands of each document, once and in order", () => {
  const expected = Object.entries(DEMANDS).flatMap(([letter, count]) =>
    Array.from({ length: count }, (_, i) => `${letter}${i + 1}`),
  );
  expect(ROWS.map(({ id }) => id)).toEqual(expected);
  expect(expected).toHaveLength(94);
});

test.each(ROWS)("$id ($asks) has evidence that exists", ({ asks, state, text, shownBy }) => {
  expect(asks.length).toBeGreaterThan(3);
  expect(STATES).toContain(state);
  expect(shownBy.split("<br>").map(problemOf)).toEqual(shownBy.split("<br>").map(() => undefined));
  expect(REASON.test(shownBy)).toBe(state === "not done");
  // If Lifeboat does not implement a requirement literally, the row needs an explanation.
  if (state === "differently" || state === "in part") expect(text).toMatch(/.{15,}\.$/);
});

test("at most twenty demands have a reason as their only evidence", () => {
  expect(ROWS.filter(({ shownBy }) => REASON.test(shownBy)).length).toBeLessThanOrEqual(MOST_REASONS);
});

test("the totals count the rows by state", () => {
  const totals = STATES.map((state) => ROWS.filter((row) => row.state === state).length);
  expect(TEXT).toContain(`| ${totals.join(" | ")} |`);
});

test("README.md links to CONFORMANCE.md", () => {
  expect(read("README.md")).toContain("(CONFORMANCE.md)");
});

// prettier-ignore
test.each([
  ["a test that does not exist",                   "[test/live/eviction.test.ts](test/live/eviction.test.ts): `no such test`"],
  ["a title that no test has",                     "[test/live/eviction.test.ts](test/live/eviction.test.ts): `vms`"],
  ["a file that does not exist",                   "[test/live/none.test.ts](test/live/none.test.ts): `whole`"],
  ["a heading that does not exist",                "[None](REFERENCE.md#no-such-heading)"],
  ["nothing",                                      ""],
  ["a promise",                                    "It works."],
  ["an out-of-date demand without a version",      "Out of date: nobody does that any more."],
])("%s is no evidence", (_, evidence) => expect(problemOf(evidence)).toBeDefined());
