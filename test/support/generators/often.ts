/** Generates usual values more often than unusual values, because most unusual values end a test early. */
import * as fc from "fast-check";

/** Generates the first value in nine of ten cases. */
export function often<const T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.constantFrom(...Array.from({ length: 9 * others.length }, () => usual), ...others);
}

/** Generates a value of `odd` once in `times` cases, and a value of `usual` in all other cases. */
export function usually<T, U>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<U>, times = 10): fc.Arbitrary<T | U> {
  return fc.oneof({ weight: times - 1, arbitrary: usual }, { weight: 1, arbitrary: odd });
}
