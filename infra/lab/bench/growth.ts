/** How figures grow with what is in the cluster. */
import type { Measurement } from "./measurement.ts";

export interface Sized {
  readonly size: number;
  /** The same figures in the same order for every size; what each is called may name its size. */
  readonly measurements: readonly Measurement[];
}

/** Each figure of a larger size with its growth since the size before; 10 is linear, 1 is flat. */
export function withGrowth(sizes: readonly Sized[]): readonly Measurement[] {
  return sizes.flatMap(({ size, measurements }, index) => {
    const before = sizes[index - 1];
    if (before === undefined) return measurements;
    if (before.measurements.length !== measurements.length) throw new Error("growth is of the same figures");
    return measurements.map((measurement, row) => grown(measurement, before.measurements[row], size / before.size));
  });
}

function grown(measurement: Measurement, before: Measurement | undefined, factor: number): Measurement {
  const times = measurement.value.median / (before?.value.median ?? 0);
  // What was nothing before grows by no factor.
  return Number.isFinite(times) ? { ...measurement, tenfold: times ** (1 / Math.log10(factor)) } : measurement;
}
