/** The line that .ci/run ends with. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const tool = fileURLToPath(new URL("../../infra/tools/test-count.mjs", import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "test-count-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function count(report: string): string {
  const file = join(folder, "report.json");
  writeFileSync(file, report);
  return spawnSync(process.execPath, [tool, file], { encoding: "utf8" }).stdout;
}

function file(status: string, ...tests: readonly string[]) {
  return { status, assertionResults: tests.map((result) => ({ status: result })) };
}

// prettier-ignore
const reports: readonly [string, object, string][] = [
  ["all passed",                     { numPassedTests: 2, numFailedTests: 0, testResults: [file("passed", "passed", "passed")] },          "2 passed, 0 failed\n"],
  ["one failed",                     { numPassedTests: 1, numFailedTests: 1, testResults: [file("failed", "passed", "failed")] },          "1 passed, 1 failed\n"],
  ["a file failed before its tests", { numPassedTests: 1, numFailedTests: 0, testResults: [file("passed", "passed"), file("failed")] },    "1 passed, 1 failed\n"],
  ["a hook failed after its tests",  { numPassedTests: 1, numFailedTests: 0, testResults: [file("failed", "passed")] },                    "1 passed, 1 failed\n"],
];
test.each(reports)("%s", (_, report, line) => expect(count(JSON.stringify(report))).toBe(line));

test("no report is a failure", () => {
  expect(count("")).toBe("The checks before the tests failed: no test ran.\n0 passed, 1 failed\n");
});
