/** A cycle in a sentence. */
import { expect, test } from "vitest";
import { describeCycle, isAtRest, type Cycle } from "../../infra/demo/descheduler-cycle.ts";

function cycle(requested: readonly string[], skipped: readonly string[], evacuationsInProgress = 0): Cycle {
  return {
    evacuationsInProgress,
    nominated: requested.length + skipped.length,
    requested: requested.map((outcome) => ({ outcome })),
    skipped: skipped.map((why) => ({ why })),
  };
}

const LIMIT = "evacuationsPerNode";

// prettier-ignore
const rows: readonly [Cycle, sentence: string, atRest: boolean][] = [
  [cycle(["Background", "Evicted", "Background"], [LIMIT], 2), "requested 3 (Background 2, Evicted 1), skipped 1 (evacuationsPerNode 1)", false],
  [cycle([], ["InProgress", LIMIT, LIMIT], 1),                 "skipped 3 (InProgress 1, evacuationsPerNode 2)",                          false],
  [cycle(["Refused"], []),                                     "requested 1 (Refused 1)",                                                 false],
  [cycle([], [], 1),                                           "nothing to do",                                                           false],
  [cycle([], []),                                              "nothing to do",                                                           true ],
];
test.each(rows)("%j: %s, at rest: %s", (answer, sentence, atRest) => {
  expect(describeCycle(answer, 6)).toBe(`cycle 7: ${sentence}`);
  expect(isAtRest(answer)).toBe(atRest);
});
