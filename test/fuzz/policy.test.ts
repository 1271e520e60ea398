/** Every decision, of arbitrary facts. The same ones every time; `npm run fuzz` looks for new ones. */
import { describe, expect, test } from "vitest";
import { DESCHEDULING_PROPERTIES } from "./descheduling-properties.ts";
import { POLICY_PROPERTIES } from "./policy-properties.ts";
import { REQUEST_PROPERTIES } from "./request-properties.ts";

const ALL = [...REQUEST_PROPERTIES, ...POLICY_PROPERTIES, ...DESCHEDULING_PROPERTIES];

/** The rarest of all outcomes is reached with any of twenty seeds. */
const NUM_RUNS = 1000;

describe("whatever the facts", () => {
  test.each(ALL)("$name", async ({ check, reaches }) => {
    const reached = await check({ seed: 20_261_120, numRuns: NUM_RUNS });
    expect(reaches.filter((outcome) => !reached.has(outcome))).toEqual([]);
  });
});
