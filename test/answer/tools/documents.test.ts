/** What documents take from the code: the table of settings. */
import { readFileSync } from "node:fs";
import { format } from "prettier";
import { expect, test } from "vitest";
import { settingsTable } from "../../../infra/tools/docs/settings.ts";
import { withTables } from "../../../infra/tools/docs/policy/document.ts";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

test("REFERENCE.md has each setting as the schema has it", async () => {
  const text = withTables(read("REFERENCE.md"), { settings: settingsTable });
  const how =
    "the settings have changed: `npx vitest run test/answer/tools -u` renders their table in REFERENCE.md anew";
  await expect(await format(text, { parser: "markdown", printWidth: 120 }), how).toMatchFileSnapshot(
    "../../../REFERENCE.md",
  );
});
