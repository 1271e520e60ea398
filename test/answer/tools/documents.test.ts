/** Tests that the tables of features and versions in REFERENCE.md match the code. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { featureTable } from "../../../infra/tools/docs/features.ts";
import { versionTable } from "../../../infra/tools/docs/versions.ts";
import { withTables } from "../../../infra/tools/docs/policy/document.ts";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

test("REFERENCE.md lists each feature and each version of the code", async () => {
  const text = withTables(read("REFERENCE.md"), {
    versions: versionTable,
    features: featureTable,
  });
  const how =
    "the features or the versions have changed: `npx vitest run test/answer/tools -u` renders their tables in REFERENCE.md anew";
  await expect(text, how).toMatchFileSnapshot("../../../REFERENCE.md");
});
