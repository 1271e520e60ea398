/**
 * Prints `N passed, N failed` from a JSON report of vitest: `node infra/tools/test-count.mjs REPORT`. A missing report
 * counts as one failure. A test file that cannot be loaded also counts as one failure.
 */
import { readFileSync } from "node:fs";

/** @param {string} path */
function count(path) {
  const text = readFileSync(path, "utf8");
  if (text === "") return { passed: 0, failed: 1, note: "The checks before the tests failed: no test ran." };
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(text);
  const broken = testResults.filter(
    /** @param {{ status: string, assertionResults: { status: string }[] }} file */
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  );
  return { passed: numPassedTests, failed: numFailedTests + broken.length, note: "" };
}

const { passed, failed, note } = count(process.argv[2] ?? "");
if (note !== "") console.log(note);
console.log(`${passed} passed, ${failed} failed`);
