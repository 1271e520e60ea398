/**
 * Tests the commands that the page offers, and the page's sentences. A sentence starts with a capital letter, unless it
 * starts with a name.
 */
import { expect, test } from "vitest";
import { actsOnRolling } from "../../../functions/page/acts.ts";
import { sentence } from "../../../functions/page/components.ts";
import { rolling } from "../../support/maintenance/rolling.ts";

// prettier-ignore
test.each([
  ["is under way", {},                         ["lifeboat pause rollm/weekend", "lifeboat cancel rollm/weekend"]],
  ["is paused",    { progress: "Paused" },     ["lifeboat resume rollm/weekend", "lifeboat cancel rollm/weekend"]],
  ["is withdrawn", { intent: "Withdrawn" },    []],
] as const)("the page offers the commands for a RollingMaintenance that %s: $2", (_, spec, commands) => {
  expect(actsOnRolling(rolling({ name: "weekend", spec })).map(({ command }) => command)).toEqual(commands);
});

// prettier-ignore
test.each([
  ["it waits",                "It waits."],
  ["node-1 is being drained", "node-1 is being drained."],
  ["node02 is being drained", "node02 is being drained."],
  ["spec.progress is Paused", "spec.progress is Paused."],
  ["Done!",                   "Done!"],
])("the message %j becomes the sentence %j", (words, said) => {
  expect(sentence(words)).toBe(said);
});
