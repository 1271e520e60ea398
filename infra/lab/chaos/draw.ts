/** Draws random numbers. The same seed text always gives the same numbers in the same order. */
import { createHash } from "node:crypto";
import * as fc from "fast-check";

export interface Draw {
  /** Draws an integer from `min` to `max`, both included. */
  int(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** Draws `min` to `max` different items. */
  some<T>(items: readonly T[], min: number, max: number): readonly T[];
}

export function drawFrom(text: string): Draw {
  let count = 0;
  const one = <T>(arbitrary: fc.Arbitrary<T>): T => {
    const seed = createHash("sha256").update(`${text}/${count++}`).digest().readInt32LE();
    for (const drawn of fc.sample(arbitrary, { seed, numRuns: 1, unbiased: true })) return drawn;
    throw new Error("nothing to draw from");
  };
  return {
    int: (min, max) => one(fc.integer({ min, max })),
    chance: (probability) => one(fc.integer({ min: 0, max: 999 })) < probability * 1000,
    pick: (items) => one(fc.constantFrom(...items)),
    some: (items, min, max) =>
      one(fc.shuffledSubarray([...items], { minLength: min, maxLength: Math.min(max, items.length) })),
  };
}
