/** What many measurements of the same thing come to. */

export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: number;
}

export function summarize(samples: readonly number[]): Summary {
  return {
    median: percentile(samples, 50),
    min: percentile(samples, 0),
    max: percentile(samples, 100),
    samples: samples.length,
  };
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 50);
}

/** Between two ranks, the line between them. */
export function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = ((sorted.length - 1) * percent) / 100;
  const [below, above] = [sorted[Math.floor(rank)], sorted[Math.ceil(rank)]];
  if (below === undefined || above === undefined) throw new Error("no samples");
  return below + (above - below) * (rank - Math.floor(rank));
}

/** One ratio for each pair: what disturbs the machine for a while disturbs both of a pair. */
export function pairedRatios(measured: readonly number[], against: readonly number[]): readonly number[] {
  if (measured.length !== against.length) throw new Error("pairs are of two");
  return measured.map((value, index) => value / (against[index] ?? Number.NaN));
}
