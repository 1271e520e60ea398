/** Every decision and every parser. The same examples every time; `npm run fuzz` looks for new ones. */
import { describe, expect, test } from "vitest";
import { CONFIG_PROPERTIES } from "./config-properties.ts";
import { CUSTOM_RESOURCE_PROPERTIES } from "./custom-resource-properties.ts";
import { DESCHEDULING_PROPERTIES } from "./descheduling-properties.ts";
import { POLICY_PROPERTIES } from "./policy-properties.ts";
import { LONG, type Property } from "./property.ts";

async function expectReached(one: Property, numRuns: number) {
  const reached = await one.check(numRuns);
  expect(one.reaches.filter((outcome) => !reached.has(outcome))).toEqual([]);
}

describe("whatever the facts and the texts", () => {
  // The rarest of all outcomes is reached with any of twenty seeds.
  test.each([...POLICY_PROPERTIES, ...DESCHEDULING_PROPERTIES, ...CONFIG_PROPERTIES])("$name", LONG, async (one) => {
    await expectReached(one, 1000);
  });

  // Asking the API server's validator takes longer than anything else here.
  test.each(CUSTOM_RESOURCE_PROPERTIES)("$name", LONG, (one) => expectReached(one, 600));
});
