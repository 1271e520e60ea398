/** Limits the total size of the documents, because a reader must find a fact quickly. */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MOST_BYTES = 150_000;
/** These documents are lists that grow with the product, so the limit does not apply to them. */
const GROWING: readonly string[] = ["CHANGELOG.md", "CONFORMANCE.md"];

const DOCUMENTS = globSync("**/*.md", { cwd: ROOT, exclude: ["**/node_modules"] }).filter(
  (path) => !GROWING.includes(path),
);

test(`all documents together have at most ${MOST_BYTES} bytes`, () => {
  expect(DOCUMENTS).toContain("README.md");
  const bytes = DOCUMENTS.reduce((sum, path) => sum + readFileSync(`${ROOT}${path}`).byteLength, 0);
  expect(bytes, "say each fact in one document, and link to it from the others").toBeLessThanOrEqual(MOST_BYTES);
});
