/** Tests which texts are times, and that no computed time is later than the year 9999. */
import { expect, test } from "vitest";
import { hasCome, secondsAfter } from "../../../shared/settings/time.ts";

const NOON = new Date("2026-11-20T12:00:00Z");

// prettier-ignore
test.each([
  // time                             has come at noon
  ["2026-11-20T12:00:00Z",            true ],
  ["2026-11-20t12:00:00z",            true ],
  ["2026-11-20T12:00:00.000000001Z",  true ],
  ["2026-11-20T14:00:00+02:00",       true ],
  ["2026-11-20",                      true ],
  ["2026-11-20T12:00:01Z",            false],
  ["2026-11-20T12:00:00-02:00",       false],
  ["9999-12-31T23:59:59Z",            false],
  // A text that is neither a date nor a time in RFC 3339 is a time that never comes.
  ["2026-11-20T12:00:00+99:00",       false],
  ["2026-11-20T11:00:00",             false],
  ["20.11.2026",                      false],
  ["12/31",                           false],
  ["week 1",                          false],
  ["tomorrow",                        false],
  ["",                                false],
])("the time %j has come at noon: %s", (time, isOver) => {
  expect(hasCome(time, NOON)).toBe(isOver);
});

// prettier-ignore
test.each([
  [NOON,             60,        "2026-11-20T12:01:00.000Z"],
  [NOON,             1e12,      "9999-12-31T23:59:59.000Z"],
  [NOON,             Infinity,  "9999-12-31T23:59:59.000Z"],
  [NOON,             NaN,       "9999-12-31T23:59:59.000Z"],
  [new Date("odd"),  60,        "9999-12-31T23:59:59.000Z"],
])("%s and %d s is %s", (from, seconds, time) => {
  expect(secondsAfter(from, seconds)).toBe(time);
});
