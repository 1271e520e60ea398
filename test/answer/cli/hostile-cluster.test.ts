/**
 * Tests that the command prints text from a cluster or a kubeconfig without control characters, and never prints a
 * token.
 */
import { expect, test } from "vitest";
import { printTable, withoutControls } from "../../../infra/cli/print.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

// prettier-ignore
test.each([
  ["an escape",                    { message: "a\u001b[2Jb" },       { message: "a\u{FFFD}[2Jb" }],
  ["an escape in its 8-bit form",  { message: "\u009b2J" },          { message: "\u{FFFD}2J" }],
  ["a carriage return, a bell",    { message: "a\rb\u0007\b\t" },    { message: "a\u{FFFD}b\u{FFFD}\u{FFFD}\u{FFFD}" }],
  ["lines",                        { message: "a\nb" },              { message: "a\nb" }],
  ["a change of text direction",   { message: "a\u202Eb\u2066c" },   { message: "a\u{FFFD}b\u{FFFD}c" }],
  ["the text of an escape",        { "\\u001b": "\\\\u001b\\r\"é" }, { "\\u001b": "\\\\u001b\\r\"é" }],
])("given %s in an answer, no control sequence reaches the terminal", (_, said, read) => expect(JSON.parse(withoutControls(JSON.stringify(said)))).toEqual(read));

test("text from a cluster cannot forge a row of a table", () => {
  const lines: string[] = [];
  const stream = { write: (text: string) => lines.push(text) };
  printTable(["VM", "MESSAGE"], [["web", "jane\nbank-vm   Moved\u202Egnp.exe"]], stream);
  expect(lines).toEqual(["VM    MESSAGE\n", "web   jane bank-vm   Moved\u{FFFD}gnp.exe\n"]);
});

test("the error about a kubeconfig that is no YAML does not quote the file", async () => {
  const kubeconfig = '{"a\\piVersion": "v1", "users": [{"name": "me", "user": {"token": "my-token"}}]}';
  const { code, err } = await lifeboat("cancel vm/web", { kubeconfig });
  expect(code).toBe(1);
  expect(err.join("\n")).toMatch(/cannot be read/);
  expect(err.join("\n")).not.toMatch(/my-token/);
});
