/** Tests that POLICY.md contains the tables that the code generates. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { TABLES, withTables } from "../../infra/tools/docs/policy/document.ts";

const POLICY = readFileSync(new URL("../../shared/POLICY.md", import.meta.url), "utf8");

test("each table of shared/POLICY.md is rendered from the code", async () => {
  const how = "the policy has changed: `npx vitest run test/decide -u` renders the tables of POLICY.md anew";
  await expect(withTables(POLICY), how).toMatchFileSnapshot("../../shared/POLICY.md");
});

test.each(Object.keys(TABLES))("the table %s is in POLICY.md", (name) => {
  expect(POLICY).toContain(`<!-- table: ${name} -->`);
});
