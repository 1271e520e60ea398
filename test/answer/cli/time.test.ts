/**
 * Tests how the command parses the times for `--at` and `--until`, and how it prints these times before it sends a
 * request.
 */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fullTime, timeLines, timeOf, timesOfOptions } from "../../../infra/cli/time.ts";

beforeEach(() => void vi.stubEnv("TZ", "Europe/Berlin"));
afterEach(() => void vi.unstubAllEnvs());

const NOW = new Date("2026-12-05T19:30:00+01:00");

// prettier-ignore
test.each([
  // typed                        now                            is
  ["22:00",                       "2026-12-05T19:30:00+01:00",   "Saturday 2026-12-05 22:00 +01:00 (Europe/Berlin), in 2h30m"],
  ["4:00",                        "2026-12-05T19:30:00+01:00",   "Sunday 2026-12-06 04:00 +01:00 (Europe/Berlin), in 8h30m"],
  ["19:30",                       "2026-12-05T19:30:00+01:00",   "Sunday 2026-12-06 19:30 +01:00 (Europe/Berlin), in 24h"],
  ["00:00",                       "2026-12-31T23:59:00+01:00",   "Friday 2027-01-01 00:00 +01:00 (Europe/Berlin), in 60s"],
  ["22:00",                       "2026-03-28T22:00:01+01:00",   "Sunday 2026-03-29 22:00 +02:00 (Europe/Berlin), in 22h"],
  ["02:30",                       "2026-03-28T22:00:00+01:00",   "Sunday 2026-03-29 03:30 +02:00 (Europe/Berlin), in 4h30m"],
  ["2026-12-06T00:00:00-05:00",   "2026-12-05T19:30:00+01:00",   "Sunday 2026-12-06 06:00 +01:00 (Europe/Berlin), in 10h"],
  ["90m",                         "2026-12-05T19:30:00+01:00",   "Saturday 2026-12-05 21:00 +01:00 (Europe/Berlin), in 90m"],
])("%s, typed at %s, is %s", (typed, now, is) => {
  const at = new Date(now);
  expect(fullTime(timeOf(typed)(at), at)).toBe(is);
});

test("west of Greenwich and with half hours, the zone is written in full", () => {
  vi.stubEnv("TZ", "America/St_Johns");
  expect(fullTime(timeOf("22:00")(NOW), NOW)).toBe("Saturday 2026-12-05 22:00 -03:30 (America/St_Johns), in 7h");
});

// prettier-ignore
test.each(["24:00", "22:60", "22", "22:00:00", "10pm", "2026-12-05", "2026-12-05T22:00", "-1h", "", "1e3s"])("%j is not a time", (typed) => {
  expect(() => timeOf(typed)).toThrow("Expected 22:00");
});

test("--until is the first such hour after the start, and both times are written in full", () => {
  const times = timesOfOptions({ at: timeOf("22:00"), until: timeOf("20:00") }, NOW);
  expect(timeLines(times, NOW)).toEqual([
    "the drain starts Saturday 2026-12-05 22:00 +01:00 (Europe/Berlin), in 2h30m",
    "the drain expires Sunday 2026-12-06 20:00 +01:00 (Europe/Berlin), in 24h",
  ]);
  expect(timeLines(times, NOW, 2)[1]).toBe(
    "no drain of a node starts after Sunday 2026-12-06 20:00 +01:00 (Europe/Berlin), in 24h; drains that have started continue",
  );
  expect(() => timesOfOptions({ at: timeOf("2h"), until: timeOf("1h") }, NOW)).toThrow(
    "--until: expected a time after",
  );
});
