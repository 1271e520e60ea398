/** One line of the benchmark's result. */
import { pairedRatios, percentile, type Summary, summarize } from "./statistics.ts";

/** In the order in which they run. */
export const PARTS = [
  "sandbox",
  "admission",
  "evictions",
  "startup",
  "reconcile",
  "descheduling",
  "page",
  "drain",
  "fleet",
  "in-cluster",
] as const;
export type Part = (typeof PARTS)[number];

export const UNITS = ["ms", "s", "MiB", "KiB", "requests", "objects", "clusters", "per s"] as const;
export type Unit = (typeof UNITS)[number];

export interface Measurement {
  readonly part: Part;
  /** Unique within the part: a later run is compared by it. */
  readonly what: string;
  readonly unit: Unit;
  readonly value: Summary;
  /** The floor, or whatever else it is to be seen against: in the same unit, from the same run. */
  readonly against?: { readonly what: string; readonly median: number };
  readonly ratio?: Summary;
  /** By how much the value is multiplied where there is ten times as much of everything (growth.ts). */
  readonly tenfold?: number;
  /** Not to be exceeded by the ratio if there is one, else by the value. */
  readonly target?: number;
}

interface Named {
  readonly part: Part;
  readonly what: string;
  readonly unit: Unit;
  readonly target?: number;
}

export function measured(named: Named, samples: readonly number[]): Measurement {
  return { ...named, value: summarize(samples) };
}

/** One number that tells of all samples: their 99th percentile. */
export function measuredP99(named: Named, samples: readonly number[]): Measurement {
  const value = { ...summarize(samples), median: percentile(samples, 99) };
  return { ...named, value };
}

export interface Floor {
  readonly what: string;
  /** As many as there are of what is measured against it, in the same order: taken in turns. */
  readonly samples: readonly number[];
}

export function measuredAgainst(named: Named, samples: readonly number[], floor: Floor): Measurement {
  const against = { what: floor.what, median: summarize(floor.samples).median };
  return { ...measured(named, samples), against, ratio: summarize(pairedRatios(samples, floor.samples)) };
}

/** The 95th percentiles of both, and their ratio. */
export function measuredP95Against(named: Named, samples: readonly number[], floor: Floor): Measurement {
  const [value, bare] = [percentile(samples, 95), percentile(floor.samples, 95)];
  return {
    ...named,
    value: { ...summarize(samples), median: value },
    against: { what: floor.what, median: bare },
    ratio: summarize([value / bare]),
  };
}

/** Undefined without a target. */
export function meetsTarget({ target, ratio, value }: Measurement): boolean | undefined {
  return target === undefined ? undefined : (ratio ?? value).median <= target;
}
