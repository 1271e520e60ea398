/** Every decision, of arbitrary facts. The same ones every time; `npm run fuzz` looks for new ones. */
import { describe, test } from "vitest";
import { DESCHEDULING_PROPERTIES } from "./descheduling-properties.ts";
import { POLICY_PROPERTIES } from "./policy-properties.ts";

describe("whatever the facts", () => {
  test.each([...POLICY_PROPERTIES, ...DESCHEDULING_PROPERTIES])("$name", ({ check }) =>
    check({ seed: 20_261_120, numRuns: 300 }),
  );
});
