/** What can be asked of `npm start`. */
import { expect, test } from "vitest";
import { parseArguments, STORIES, USAGE } from "../../infra/demo/arguments.ts";

// prettier-ignore
test.each([
  [[],                     { story: "drain",    exit: false, help: false }],
  [["--exit", "pressure"], { story: "pressure", exit: true,  help: false }],
  [["drain", "-h"],        { story: "drain",    exit: false, help: true  }],
])("%j", (args, expected) => expect(parseArguments(args)).toEqual(expected));

// prettier-ignore
test.each([
  [["dance"],          "unknown story dance; there are drain, preemption, taint, pressure, descheduler"],
  [["drain", "drain"], "one story at a time: drain, then drain"],
])("%j is refused: %s", (args, message) => expect(() => parseArguments(args)).toThrow(message));

test.each(STORIES)("the usage tells of %s", (story) => expect(USAGE).toMatch(new RegExp(`^  ${story} +\\S`, "m")));
