/** POLICY.md is the policy: rendered from the tables. */
import { expect, test } from "vitest";
import { renderPolicy } from "../../infra/tools/docs/policy/document.ts";

test("shared/policy/POLICY.md is rendered from the code", async () => {
  const how = "the policy has changed: `npx vitest run test/policy -u` renders POLICY.md anew";
  await expect(renderPolicy(), how).toMatchFileSnapshot("../../shared/policy/POLICY.md");
});
