/** What can be asked of `npm run chaos`. */
import { expect, test } from "vitest";
import { type Arguments, parseArguments, USAGE } from "../../infra/chaos/command-line.ts";
import { FAULT_NAMES } from "../../infra/chaos/fault-table.ts";

const parse = (...args: readonly string[]) => parseArguments(args, () => "new");

const DEFAULTS: Arguments = { runs: 20, from: 1, seed: "new", jobs: 1, verbose: false, help: false };

// prettier-ignore
const rows: readonly (readonly [readonly string[], Partial<Arguments>])[] = [
  [[],                                       {}],
  [["--runs", "1000", "--seed", "7"],        { runs: 1000, seed: "7" }],
  [["--runs", "1", "--from", "17"],          { runs: 1, from: 17 }],
  [["--vms", "50", "--jobs", "2"],           { vms: 50, jobs: 2 }],
  [["--only", "Outage", "--only", "Latency"], { only: ["Outage", "Latency"] }],
  [["--verbose"],                            { verbose: true }],
  [["--help"],                               { help: true }],
];
test.each(rows)("%j", (args, expected) => expect(parse(...args)).toEqual({ ...DEFAULTS, ...expected }));

// prettier-ignore
const wrong: readonly (readonly [readonly string[], string])[] = [
  [["--jobs", "1.5"],     '--jobs: expected a whole number from 1 on, got "1.5"'],
  [["--seed", ""],        "--seed: expected a text"],
  [["--only", "Aliens"],  "--only: there is no fault Aliens"],
];
test.each(wrong)("%j is a usage error", (args, message) => expect(() => parse(...args)).toThrow(message));

test("the usage names every fault", () => {
  for (const name of FAULT_NAMES) expect(USAGE).toContain(`  ${name} `);
});
