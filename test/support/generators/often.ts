/** How often what is drawn: the usual mostly, or nothing would ever get far. */
import * as fc from "fast-check";

/** Nine times of ten the first. */
export function often<const T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.constantFrom(...Array.from({ length: 9 * others.length }, () => usual), ...others);
}

/** The other once in so many times. */
export function usually<T, U>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<U>, times = 10): fc.Arbitrary<T | U> {
  return fc.oneof({ weight: times - 1, arbitrary: usual }, { weight: 1, arbitrary: odd });
}
