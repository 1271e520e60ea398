/** By how much a figure is multiplied for ten times as much. */
import { expect, test } from "vitest";
import { withGrowth } from "../../infra/bench/growth.ts";
import { measured } from "../../infra/bench/measurement.ts";

const rows = (...values: readonly number[]) =>
  values.map((value) => measured({ part: "reconcile", what: "requests", unit: "requests" }, [value]));

// prettier-ignore
test.each<[readonly number[], readonly number[], readonly (number | undefined)[]]>([
  // sizes           values             per tenfold size; the first has none
  [[1000, 10_000],   [40, 4000],        [undefined, 100]],
  [[1000, 10_000],   [40, 40],          [undefined, 1]],
  [[50, 500],        [40, 20],          [undefined, 0.5]],
  // A hundred times the size is twice ten times.
  [[100, 10_000],    [40, 4000],        [undefined, 10]],
  // Each is compared with the one before; nothing grows by no factor.
  [[1, 10, 100],     [0, 3, 6],         [undefined, undefined, 2]],
])("growth of sizes %j, with %j: × %j", (sizes, values, growth) => {
  const sized = sizes.map((size, index) => ({ size, measurements: rows(values[index] ?? 0) }));
  expect(withGrowth(sized).map(({ tenfold }) => tenfold && Number(tenfold.toFixed(6)))).toEqual(growth);
});
