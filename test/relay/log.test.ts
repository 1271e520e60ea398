/** What the relay says, and what it does with an object that is not as it should be. */
import { expect, test } from "vitest";
import { createLog, reasonOf } from "../../infra/relay/log.ts";
import { createReader } from "../../infra/relay/watch.ts";
import { PODS } from "../../infra/relay/kinds.ts";
import { createSteppedClock } from "../../infra/sandbox/actors/clock.ts";
import { LAUNCHER, pod } from "./objects.ts";

const clock = createSteppedClock(new Date("2026-11-20T12:00:00Z"));

test("a line is one JSON object", () => {
  const lines: string[] = [];
  createLog(clock, (line) => lines.push(line))("warn", "two\nlines", { failures: 2 });
  expect(lines).toEqual(['{"time":"2026-11-20T12:00:00.000Z","level":"warn","message":"two\\nlines","failures":2}']);
});

test.each([
  [new Error("fetch failed", { cause: new Error("connect ECONNREFUSED") }), "fetch failed: connect ECONNREFUSED"],
  [new Error("x".repeat(1_000)), "x".repeat(300)],
  ["thrown", "unknown error"],
])("a reason is short: %s", (error, reason) => {
  expect(reasonOf(error)).toBe(reason);
});

test("an odd object is left out and said to be, the others are not", () => {
  const lines: string[] = [];
  const read = createReader(
    PODS,
    createLog(clock, (line) => lines.push(line)),
  );
  expect([pod(), { metadata: 7 }, pod()].map((object) => read(object)?.metadata.name)).toEqual([
    LAUNCHER,
    undefined,
    LAUNCHER,
  ]);
  expect(lines).toEqual([expect.stringContaining("left out an object that is not as expected")]);
});
