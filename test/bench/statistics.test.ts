/** What many measurements come to. */
import { describe, expect, test } from "vitest";
import { pairedRatios, percentile, summarize } from "../../infra/bench/statistics.ts";

describe("percentile", () => {
  // prettier-ignore
  test.each([
    // samples            percent  is
    [[1, 3],              50,      2   ],
    [[10, 9, 100],        50,      10  ],
    [[0, 100],            99,      99  ],
    [[1, 2, 3, 4, 5],     90,      4.6 ],
  ])("of %j at %d is %d", (samples, percent, expected) => {
    expect(percentile(samples, percent)).toBeCloseTo(expected, 10);
  });

  test("of nothing is an error, not a figure", () => {
    expect(() => percentile([], 50)).toThrow("no samples");
  });
});

test("a summary tells the middle, the range and how many there were", () => {
  expect(summarize([4, 8, 6])).toEqual({ median: 6, min: 4, max: 8, samples: 3 });
});

test("ratios of pairs survive a machine that is slower for a while", () => {
  const ratios = pairedRatios([1.1, 11, 1.1], [1, 10, 1]);
  expect(summarize(ratios)).toMatchObject({ min: expect.closeTo(1.1), max: expect.closeTo(1.1) });
  expect(() => pairedRatios([1, 2], [1])).toThrow("pairs");
});
