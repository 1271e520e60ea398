/** Every decision and every parser. The same examples every time; `npm run fuzz` looks for new ones. */
import { describe, expect, test } from "vitest";
import { CONFIG_PROPERTIES } from "./config-properties.ts";
import { DESCHEDULING_PROPERTIES } from "./descheduling-properties.ts";
import { POLICY_PROPERTIES } from "./policy-properties.ts";

/** The rarest of all outcomes is reached with any of twenty seeds. */
const NUM_RUNS = 1000;

describe("whatever the facts and the texts", () => {
  test.each([...POLICY_PROPERTIES, ...DESCHEDULING_PROPERTIES, ...CONFIG_PROPERTIES])("$name", async (one) => {
    const reached = await one.check({ seed: 20_261_120, numRuns: NUM_RUNS });
    expect(one.reaches.filter((outcome) => !reached.has(outcome))).toEqual([]);
  });
});
