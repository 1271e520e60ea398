/** What can be asked of `npm run bench`. */
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { parseArguments, USAGE } from "../../infra/bench/command-line.ts";
import { PARTS } from "../../infra/bench/measurement.ts";

const DEFAULTS = { parts: PARTS, quick: false, help: false, out: resolve(".build/bench.json") };

// prettier-ignore
test.each([
  [[],                                               {}],
  [["startup", "--quick", "sandbox"],                { parts: ["sandbox", "startup"], quick: true }],
  [["--out", "now.json", "--against", "then.json"],  { out: resolve("now.json"), against: resolve("then.json") }],
])("%j", (args, expected) => expect(parseArguments(args)).toEqual({ ...DEFAULTS, ...expected }));

// prettier-ignore
test.each([
  [["network"],    "unknown part network; there are sandbox, admission"],
  [["--out", ""],  "--out: expected the name of a file"],
])("%j is refused", (args, message) => expect(() => parseArguments(args)).toThrow(message));

test.each(PARTS)("the usage tells of %s", (part) => expect(USAGE).toMatch(new RegExp(`^ {2}${part} `, "m")));
