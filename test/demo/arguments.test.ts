import { describe, expect, test } from "vitest";
import { parseArguments, STORIES, USAGE } from "../../infra/demo/arguments.ts";

describe("the command line of npm start", () => {
  // prettier-ignore
  const rows: readonly [string[], string, boolean][] = [
    [[],                  "drain", false],
    [["--exit"],          "drain", true ],
    [["drain"],           "drain", false],
    [["drain", "--exit"], "drain", true ],
    [["--exit", "drain"], "drain", true ],
    [["preemption"],      "preemption", false],
    [["taint"],           "taint", false],
    [["pressure", "--exit"], "pressure", true],
    [["descheduler"],     "descheduler", false],
  ];
  test.each(rows)("%j runs %s, exit: %s", (argv, story, exit) => {
    expect(parseArguments(argv)).toEqual({ kind: "Run", arguments: { story, exit } });
  });

  test.each([["--help"], ["-h"]])("%s asks for the usage", (argument) => {
    expect(parseArguments(["drain", argument])).toEqual({ kind: "Help" });
  });

  // prettier-ignore
  const errors: readonly [string[], string][] = [
    [["--quiet"],        "unknown option --quiet"],
    [["-x"],             "unknown option -x"],
    [["dance"],          "unknown story dance: there are drain, preemption, taint, pressure, descheduler"],
    [["drain", "drain"], "one story at a time: drain, then drain"],
  ];
  test.each(errors)("%j is refused: %s", (argv, message) => {
    expect(parseArguments(argv)).toEqual({ kind: "Error", message });
  });

  test.each(STORIES)("the usage tells of %s", (story) => expect(USAGE).toMatch(new RegExp(`^  ${story} +\\S`, "m")));
});
