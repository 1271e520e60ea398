/** What every tool says of a command line that is wrong. */
import { expect, test } from "vitest";
import { countOf, FLAG, readArguments, readFlags, TEXT, UsageError } from "../../infra/tools/console/arguments.ts";

const OPTIONS = { port: TEXT, quick: FLAG };

test("flags and words", () => {
  const { values, positionals } = readArguments(["a", "--port=1", "b"], OPTIONS);
  expect([{ ...values }, positionals]).toEqual([{ port: "1", quick: false }, ["a", "b"]]);
});

test.each([["--bogus"], ["stray"], ["--port"], ["--quick=yes"]])("%s is refused by name", (argument) => {
  const word = argument.split("=")[0] ?? "";
  expect(() => readFlags([argument], OPTIONS)).toThrow(UsageError);
  expect(() => readFlags([argument], OPTIONS)).toThrow(word);
});

test.each(["0", "-1", "1.5", "many", "", "1e3"])("%j is no count", (text) => {
  expect(() => countOf("--runs", text)).toThrow(`--runs: expected a whole number from 1 on, got "${text}"`);
});
test("17 is one", () => expect(countOf("--runs", "17")).toBe(17));
