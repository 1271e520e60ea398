/** The system clock: a timer far in the future does not fire at once. */
import { afterEach, expect, test, vi } from "vitest";
import { systemClock } from "../../actors/clock.ts";

afterEach(() => vi.restoreAllMocks());

test.each([
  [1000, 1000],
  [Date.parse("2099-01-01T00:00:00Z") - Date.parse("2026-01-01T00:00:00Z"), 2 ** 31 - 1],
])("a timer of %i ms is one of %i, for a longer one is one of 1 to Node", (ms, set) => {
  const setTimeout = vi.spyOn(globalThis, "setTimeout");
  systemClock.setTimer(ms, () => undefined)();
  expect(setTimeout).toHaveBeenCalledExactlyOnceWith(expect.any(Function), set);
});
