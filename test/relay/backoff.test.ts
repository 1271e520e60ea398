/** How long the relay waits. */
import { describe, expect, test } from "vitest";
import { backoffMs, retryAfterMs } from "../../infra/relay/clock.ts";

const BACKOFF = { firstMs: 500, longestMs: 15_000 };

describe("back-off", () => {
  test.each([
    [1, 250, 500],
    [2, 500, 1_000],
    [5, 4_000, 8_000],
    [6, 7_500, 15_000],
    [7, 7_500, 15_000],
    [10_000, 7_500, 15_000],
  ])("after failure %i is between %i and %i ms", (failures, least, most) => {
    expect(backoffMs(BACKOFF, failures, () => 0)).toBe(least);
    expect(backoffMs(BACKOFF, failures, () => 1)).toBe(most);
  });
});

describe("Retry-After", () => {
  const now = new Date("2026-11-20T12:00:00Z");
  test.each([
    ["7", 7_000],
    [" 0 ", 0],
    ["Fri, 20 Nov 2026 12:00:30 GMT", 30_000],
    ["Fri, 20 Nov 2026 11:00:00 GMT", 0],
    ["soon", undefined],
    [null, undefined],
  ])("%s", (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });
});
