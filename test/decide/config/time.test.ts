/** Tests how a duration is rendered. kubectl renders ages in the same way. */
import { expect, test } from "vitest";
import { durationText } from "../../../shared/settings/time.ts";

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];

test.each([
  [-5, "0s"],
  [0.4, "0s"],
  [119, "119s"],
  [2 * MINUTE, "2m"],
  [2 * MINUTE + 30, "2m30s"],
  [10 * MINUTE - 1, "9m59s"],
  [10 * MINUTE + 30, "10m"],
  [HOUR, "60m"],
  [2 * HOUR - 1, "119m"],
  [3 * HOUR + 30 * MINUTE, "3h30m"],
  [12 * HOUR + 30 * MINUTE, "12h"],
  [2 * DAY - 1, "47h"],
  [2 * DAY, "2d"],
  [2 * DAY + 5 * HOUR, "2d5h"],
  [10 * DAY + 5 * HOUR, "10d"],
])("%d s are %s", (seconds, text) => expect(durationText(seconds)).toBe(text));
