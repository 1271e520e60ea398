/** Every decision, of arbitrary facts. The same ones every time; `npm run fuzz` looks for new ones. */
import { describe, expect, test } from "vitest";
import { DESCHEDULING_PROPERTIES } from "./descheduling-properties.ts";
import { POLICY_PROPERTIES } from "./policy-properties.ts";
import { REQUEST_PROPERTIES } from "./request-properties.ts";

/** There are many answers to one request, a world has many VMs. */
const ALL = [
  ...REQUEST_PROPERTIES.map((property) => ({ ...property, numRuns: 1000 })),
  ...[...POLICY_PROPERTIES, ...DESCHEDULING_PROPERTIES].map((property) => ({ ...property, numRuns: 400 })),
];

describe("whatever the facts", () => {
  test.each(ALL)("$name", async ({ check, reaches, numRuns }) => {
    const reached = await check({ seed: 20_261_120, numRuns });
    expect(reaches.filter((outcome) => !reached.has(outcome))).toEqual([]);
  });
});
