/** How long the relay waits. */
import { describe, expect, test } from "vitest";
import { backoffMs } from "../../infra/relay/clock.ts";

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
