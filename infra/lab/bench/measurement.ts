/** A row of the benchmark's table: a measurement and, if present, a baseline from the same run. */
import { aligned } from "../../cli/table.ts";

export interface Measurement {
  readonly what: string;
  readonly unit: "ms" | "s" | "MB" | "requests";
  readonly samples: readonly number[];
  /** The samples of the baseline: one for each measured sample, in the same unit. */
  readonly floor?: { readonly what: string; readonly samples: readonly number[] };
  /** The highest acceptable ratio to the baseline. Without a baseline, the highest acceptable median. */
  readonly target?: number;
}

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const [below, above] = [sorted[Math.floor(middle)], sorted[Math.ceil(middle)]];
  if (below === undefined || above === undefined) throw new Error("no samples");
  return (below + above) / 2;
}

/** Returns the ratio of each sample to its baseline sample. */
function ratiosOf({ samples, floor }: Measurement): readonly number[] {
  return floor === undefined ? [] : samples.map((value, index) => value / (floor.samples[index] ?? Number.NaN));
}

export function renderMeasurements(measurements: readonly Measurement[]): string {
  const head = ["what", "median", "against", "", "ratio", "min–max", "wanted", ""];
  const rows = measurements.map((one) => {
    const { what, unit, samples, floor, target } = one;
    const ratios = ratiosOf(one);
    const reached = median(floor === undefined ? samples : ratios);
    return [
      what,
      `${figure(median(samples))} ${unit}`,
      ...(floor === undefined
        ? ["", "", ""]
        : [floor.what, `${figure(median(floor.samples))} ${unit}`, figure(reached)]),
      ratios.length > 1 ? `${figure(Math.min(...ratios))}–${figure(Math.max(...ratios))}` : "",
      target === undefined ? "" : `≤ ${target}`,
      target === undefined || reached <= target ? "" : "missed",
    ];
  });
  return aligned([head, ...rows], { right: (column) => ![0, 2, 7].includes(column) }).join("\n");
}

function figure(value: number): string {
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}
