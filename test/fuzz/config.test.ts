/** Every parser, of arbitrary and of almost valid texts. The same ones every time; `npm run fuzz` looks for new ones. */
import { describe, expect, test } from "vitest";
import { CONFIG_PROPERTIES } from "./config-properties.ts";

describe("whatever the text", () => {
  test.each(CONFIG_PROPERTIES)("$name", async ({ check, reaches }) => {
    const reached = await check({ seed: 20_261_120, numRuns: 1000 });
    expect(reaches.filter((outcome) => !reached.has(outcome))).toEqual([]);
  });
});
