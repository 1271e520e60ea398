/**
 * A property with its name, to be tried a few times by the tests and many times by a long run.
 * Owns: trying one; facts that nothing can change. Does not own: the properties.
 */
import * as fc from "fast-check";

/** What an example has come to. */
type Outcomes = void | string | readonly string[];

export interface Property {
  readonly name: string;
  /** What some example or other comes to, if there are a few hundred of them: else the property would say little. */
  readonly reaches: readonly string[];
  /**
   * What the examples have come to. Throws with the smallest one that fast-check finds for which the property does not
   * hold, and how to repeat it.
   */
  readonly check: (parameters: Parameters) => ReadonlySet<string> | Promise<ReadonlySet<string>>;
}

interface Parameters {
  readonly seed: number;
  readonly numRuns: number;
}

export function property<T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  holds: (given: T) => Outcomes,
  reaches: readonly string[] = [],
): Property {
  const check = (parameters: Parameters) => {
    const reached = new Set<string>();
    const example = fc.property(arbitrary, (given) => note(reached, holds(given)));
    fc.assert(example, parameters);
    return reached;
  };
  return { name, reaches, check };
}

export function asyncProperty<T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  holds: (given: T) => Promise<Outcomes>,
  reaches: readonly string[] = [],
): Property {
  const check = async (parameters: Parameters) => {
    const reached = new Set<string>();
    const example = fc.asyncProperty(arbitrary, async (given) => note(reached, await holds(given)));
    await fc.assert(example, parameters);
    return reached;
  };
  return { name, reaches, check };
}

function note(reached: Set<string>, outcomes: Outcomes): void {
  for (const outcome of [outcomes ?? []].flat()) reached.add(outcome);
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
