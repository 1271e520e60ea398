/** What a cluster or a kubeconfig says reaches the terminal as text, and no token is repeated. */
import { expect, onTestFinished, test } from "vitest";
import { printTable, withoutControls } from "../../../infra/cli/print.ts";
import { json, status } from "../../support/answers.ts";
import { startStubServer } from "../../support/stub-server.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

// prettier-ignore
test.each([
  ["an escape",                    { message: "a\u001b[2Jb" },       { message: "a\u{FFFD}[2Jb" }],
  ["its 8-bit form",               { message: "\u009b2J" },          { message: "\u{FFFD}2J" }],
  ["a carriage return, a bell",    { message: "a\rb\u0007\b\t" },    { message: "a\u{FFFD}b\u{FFFD}\u{FFFD}\u{FFFD}" }],
  ["lines",                        { message: "a\nb" },              { message: "a\nb" }],
  ["what turns the rest",          { message: "a\u202Eb\u2066c" },   { message: "a\u{FFFD}b\u{FFFD}c" }],
  ["text that looks like one",     { "\\u001b": "\\\\u001b\\r\"é" }, { "\\u001b": "\\\\u001b\\r\"é" }],
])("%s in an answer", (_, said, read) => expect(JSON.parse(withoutControls(JSON.stringify(said)))).toEqual(read));

test("one escaped that turns the rest", () => {
  expect(withoutControls(String.raw`{"message": "a\u202eb\u200bc\u000ad"}`)).toBe(
    String.raw`{"message": "a�b�c\u000ad"}`,
  );
});

test("what a cluster says forges no row of a table", () => {
  const lines: string[] = [];
  const stream = { write: (text: string) => lines.push(text) };
  printTable(["VM", "MESSAGE"], [["web", "jane\nbank-vm   Moved\u202Egnp.exe"]], stream);
  expect(lines).toEqual(["VM    MESSAGE\n", "web   jane bank-vm   Moved\u{FFFD}gnp.exe\n"]);
});

function kubeconfigOf(server: string): string {
  const cluster = { server, "insecure-skip-tls-verify": true };
  return JSON.stringify({
    "current-context": "a",
    clusters: [{ name: "a", cluster }],
    users: [{ name: "a", user: {} }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
  });
}

test("a kubeconfig that is no YAML is not quoted", async () => {
  const kubeconfig = '{"a\\piVersion": "v1", "users": [{"name": "me", "user": {"token": "my-token"}}]}';
  const { code, err } = await lifeboat("cancel web", { kubeconfig });
  expect(code).toBe(1);
  expect(err.join("\n")).toMatch(/cannot be read/);
  expect(err.join("\n")).not.toMatch(/my-token/);
});

test("an answer that is none is told in words", async () => {
  const answered = { "/apis/authentication.k8s.io/v1/selfsubjectreviews": json({ kind: "SelfSubjectReview" }, 201) };
  const server = await startStubServer(
    ({ path }) => new Map(Object.entries(answered)).get(path) ?? status(404, "NotFound"),
  );
  onTestFinished(() => server.stop());
  const { code, err } = await lifeboat("evacuate web", { kubeconfig: kubeconfigOf(server.url) });
  expect({ code, err }).toMatchObject({
    code: 1,
    err: [expect.stringContaining("selfsubjectreviews"), expect.any(String)],
  });
});
