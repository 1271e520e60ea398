/** By how much a figure is multiplied for ten times as much. */
import { describe, expect, test } from "vitest";
import { withGrowth } from "../../infra/bench/growth.ts";
import { measured } from "../../infra/bench/measurement.ts";

const rows = (...values: readonly number[]) =>
  values.map((value) => measured({ part: "reconcile", what: "requests", unit: "requests" }, [value]));

describe("growth per tenfold size", () => {
  // prettier-ignore
  test.each<[readonly [number, number], readonly [number, number], number]>([
    // sizes           values        is
    [[1000, 10_000],   [40, 400],    10],
    [[1000, 10_000],   [40, 40],     1],
    [[1000, 10_000],   [40, 4000],   100],
    [[1000, 10_000],   [40, 200],    5],
    // A hundred times the size is twice ten times.
    [[100, 10_000],    [40, 4000],   10],
    [[50, 500],        [40, 20],     0.5],
  ])("of sizes %j, with %j: × %d", ([from, to], [then, now], tenfold) => {
    const [, grown] = withGrowth([{ size: from, measurements: rows(then) }, { size: to, measurements: rows(now) }]);
    expect(grown?.tenfold).toBeCloseTo(tenfold, 10);
  });

  test("each size is compared with the one before; the first has none", () => {
    const sizes = [1, 10, 100].map((size) => ({ size, measurements: rows(size, 7) }));
    expect(withGrowth(sizes).map(({ tenfold }) => tenfold)).toEqual([undefined, undefined, 10, 1, 10, 1]);
  });

  test("nothing grows by no factor", () => {
    const [, grown] = withGrowth([
      { size: 1, measurements: rows(0) },
      { size: 10, measurements: rows(3) },
    ]);
    expect(grown).not.toHaveProperty("tenfold");
  });
});
