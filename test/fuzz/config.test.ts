/** Every parser, of arbitrary and of almost valid texts. The same ones every time; `npm run fuzz` looks for new ones. */
import { describe, test } from "vitest";
import { CONFIG_PROPERTIES } from "./config-properties.ts";

describe("whatever the text", () => {
  test.each(CONFIG_PROPERTIES)("$name", ({ check }) => check({ seed: 20_261_120, numRuns: 300 }));
});
