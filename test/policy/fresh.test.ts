/** Fresh facts: what needs them, and for how long they are fresh. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../shared/policy/action.ts";
import { isTooLate, NEEDS_FRESH_FACTS } from "../../shared/policy/fresh.ts";
import { at, NOW } from "./fixtures.ts";

/** Nothing in the cluster says no to these when the evacuation that they are about has ended since. */
const NEEDING = ["Unmark", "CreateMigration", "DeleteMigration"] as const;
const OTHERS = [
  "Mark",
  "Record",
  "Forget",
  "AdoptMigration",
  "CreateBudget",
  "EnsureBudget",
  "GrowBudget",
  "ResizeBudget",
  "DeleteBudget",
  "DeletePod",
  "AnnotatePod",
  "WriteConditions",
  "WriteRegister",
  "WriteSlots",
  "WriteCounters",
  "Event",
] as const satisfies readonly Action["verb"][];

test("the rows are every verb", () => {
  expect([...NEEDING, ...OTHERS].toSorted()).toEqual(Object.keys(NEEDS_FRESH_FACTS).toSorted());
});

describe.each(NEEDING)("%s needs facts that are fresh", (verb) => {
  // prettier-ignore
  test.each([
    // seconds, too late
    [-30,       false],
    [0,         false],
    [4.999,     false],
    [5,         true],
    [5.001,     true],
    [3600,      true],
  ])("seen %d s ago: %s", (seconds, tooLate) => expect(isTooLate({ verb }, NOW, at(seconds))).toBe(tooLate));
});

test.each(OTHERS)("%s is never too late", (verb) => {
  for (const seconds of [0, 5, 3600]) expect(isTooLate({ verb }, NOW, at(seconds))).toBe(false);
});
