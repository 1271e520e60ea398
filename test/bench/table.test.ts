/** The result as a person reads it. */
import { describe, expect, test } from "vitest";
import {
  type Measurement,
  measured,
  measuredAgainst,
  measuredP99,
  meetsTarget,
} from "../../infra/bench/measurement.ts";
import { figure, renderChanges, renderMeasurements } from "../../infra/bench/table.ts";

const floor = { what: "floor", samples: [1, 2, 4] };
const answer = measuredAgainst({ part: "admission", what: "answer", unit: "ms", target: 1.2 }, [1.1, 2, 6], floor);
const memory = measured({ part: "sandbox", what: "peak RSS", unit: "MiB", target: 1024 }, [512.3]);

describe("a figure has three digits", () => {
  // prettier-ignore
  test.each([
    [0, "0"], [0.01234, "0.0123"], [1, "1"], [1.5, "1.5"], [1.2345, "1.23"], [12.345, "12.3"],
    [99.96, "100"], [100, "100"], [1234.5, "1235"], [200, "200"], [-3, "-3"],
  ])("%d is %s", (value, text) => expect(figure(value)).toBe(text));
});

test("the table of a run: each figure, its floor, how it varies and grows, and whether it meets its target", () => {
  const { target: _, ...aimless } = memory;
  const rows = [answer, { ...memory, tenfold: 8.25 }, { ...memory, target: 100 }, aimless];
  expect(renderMeasurements(rows)).toMatchInlineSnapshot(`
    "part       what       median  min–max  n  against      ratio  min–max  per 10×  target
    ─────────  ────────  ───────  ───────  ─  ───────────  ─────  ───────  ───────  ──────  ──────
    admission  answer       2 ms    1.1–6  3  floor: 2 ms    1.1    1–1.5            ≤ 1.2  met
    sandbox    peak RSS  512 MiB           1                                × 8.25  ≤ 1024  met
    sandbox    peak RSS  512 MiB           1                                         ≤ 100  MISSED
    sandbox    peak RSS  512 MiB           1"
  `);
});

describe("the target", () => {
  test("is one for the ratio, where there is one", () => {
    expect(meetsTarget(answer)).toBe(true);
    expect(meetsTarget({ ...answer, target: 1 })).toBe(false);
  });

  test("may be zero", () => {
    const none = { part: "drain", what: "lost", unit: "requests", target: 0 } as const;
    expect(meetsTarget(measured(none, [0]))).toBe(true);
    expect(meetsTarget(measured(none, [1]))).toBe(false);
  });
});

test("a p99 keeps the range of all samples", () => {
  const samples = Array.from({ length: 101 }, (_, index) => index);
  const { value } = measuredP99({ part: "sandbox", what: "GET", unit: "ms" }, samples);
  expect(value).toEqual({ median: 99, min: 0, max: 100, samples: 101 });
});

test("against an earlier run: ratios where both have one, else values; what only one of them has is left out", () => {
  const slower: Measurement = { ...answer, ratio: { median: 1.32, min: 1, max: 2, samples: 3 } };
  const lighter = measured({ part: "sandbox", what: "peak RSS", unit: "MiB" }, [256.15]);
  const same = measured({ part: "drain", what: "the same", unit: "requests" }, [0]);
  const before = [answer, memory, same, lost(0), { ...memory, what: "only then" }];
  const now = [slower, lighter, same, lost(1), { ...memory, what: "only now" }];
  expect(renderChanges(before, now)).toMatchInlineSnapshot(`
    "part       what            then         now  change
    ─────────  ────────  ──────────  ──────────  ──────
    admission  answer         1.1 ×      1.32 ×    +20%
    sandbox    peak RSS     512 MiB     256 MiB    −50%
    drain      the same  0 requests  0 requests     ±0%
    drain      lost      0 requests  1 requests"
  `);
  expect(renderChanges([], [answer])).toBe("Nothing in this run was measured in that one.");
});

function lost(count: number): Measurement {
  return measured({ part: "drain", what: "lost", unit: "requests" }, [count]);
}
