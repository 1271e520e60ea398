/**
 * A property with its name, to be tried a few times by the tests and many times by a long run.
 * Owns: trying one; facts that nothing can change. Does not own: the properties.
 */
import * as fc from "fast-check";

export interface Property {
  readonly name: string;
  /** Throws with the smallest example that fast-check finds, and how to repeat it. */
  readonly check: (parameters: { readonly seed: number; readonly numRuns: number }) => void | Promise<void>;
}

export function property<T>(name: string, arbitrary: fc.Arbitrary<T>, holds: (given: T) => void): Property {
  return { name, check: (parameters) => fc.assert(fc.property(arbitrary, holds), parameters) };
}

export function asyncProperty<T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  holds: (given: T) => Promise<void>,
): Property {
  return { name, check: (parameters) => fc.assert(fc.asyncProperty(arbitrary, holds), parameters) };
}

/** Whoever changes any of it, throws: modules are strict. Maps and sets are left as they are. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (value instanceof Map || value instanceof Set) {
    for (const inner of value.values()) frozen(inner);
    return value;
  }
  if (!(value instanceof Date)) for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}
