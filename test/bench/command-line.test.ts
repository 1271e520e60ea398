/** What can be asked of `npm run bench`. */
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { parseArguments, USAGE, UsageError } from "../../infra/bench/command-line.ts";
import { PARTS } from "../../infra/bench/measurement.ts";

describe("the command line", () => {
  test("without arguments runs everything, in full, into .build", () => {
    const parsed = parseArguments([]);
    expect(parsed).toEqual({ parts: PARTS, quick: false, help: false, out: resolve(".build/bench.json") });
  });

  test("runs what is named, in the order of the table", () => {
    expect(parseArguments(["startup", "--quick", "sandbox"])).toMatchObject({
      parts: ["sandbox", "startup"],
      quick: true,
    });
  });

  test("takes files from where it is called", () => {
    const parsed = parseArguments(["--out", "now.json", "--against", "then.json"]);
    expect(parsed).toMatchObject({ out: resolve("now.json"), against: resolve("then.json") });
  });

  // prettier-ignore
  test.each([
    [["network"],    "unknown part network; there are sandbox, admission"],
    [["--out", ""],  "--out: expected the name of a file"],
    [["--fast"],     "--fast"],
  ])("%j is refused", (args, message) => {
    expect(() => parseArguments(args)).toThrow(UsageError);
    expect(() => parseArguments(args)).toThrow(message);
  });

  test.each(PARTS)("the usage tells of %s", (part) => expect(USAGE).toMatch(new RegExp(`^ {2}${part} `, "m")));
});
