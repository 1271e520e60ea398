/** A short run of `npm run fuzz`, of the same calls every time: the command keeps its contract, whatever the cluster says. */
import { expect, test } from "vitest";
import { callCommand } from "./command.ts";
import { controlIn } from "./hostile-terminal.ts";
import { LONG } from "./property.ts";

test("no call of the command is outside the contract, and each ends well, badly and not at all", LONG, async () => {
  const reached = await callCommand(150);
  const codes = new Set([...reached.keys()].map((outcome) => outcome.split(" ").at(-1)));
  expect([...codes]).toEqual(expect.arrayContaining(["0", "1", "130", "2", "3"]));
});

test.each([
  ["a colour of another party's", "a\u001b[35mb", true],
  ["a title", "\u001b]0;x\u0007", true],
  ["its 8-bit form", "\u009b35m", true],
  ["a carriage return", "a\rb", true],
  ["a colour of ours where no terminal is", "\u001b[31mx\u001b[0m", false],
])("a terminal would obey %s", (_, text, isTerminal) => expect(controlIn(text, isTerminal)).toBeDefined());

test("it is ours to colour a line", () => expect(controlIn("\u001b[31mx\u001b[0m\n", true)).toBeUndefined());
