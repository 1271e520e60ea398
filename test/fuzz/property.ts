/** A property with its name, to be tried a few times by the tests and many times by a long run. */
import * as fc from "fast-check";

/** What an example has come to. */
type Outcomes = void | string | readonly string[];

export interface Property {
  readonly name: string;
  /** What some example or other comes to, if there are a few hundred of them: else the property would say little. */
  readonly reaches: readonly string[];
  /**
   * How often the examples have come to what. Throws a CounterexampleError with the smallest one that fast-check finds for
   * which the property does not hold.
   */
  readonly check: (parameters: Parameters) => Promise<ReadonlyMap<string, number>>;
}

interface Parameters {
  readonly seed: number;
  readonly numRuns: number;
  /** The example to begin with, as fast-check names it. */
  readonly path?: string;
}

export function property<T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  holds: (given: T) => Outcomes | Promise<Outcomes>,
  reaches: readonly string[] = [],
): Property {
  const check = async (parameters: Parameters) => {
    const reached = new Map<string, number>();
    const example = fc.asyncProperty(arbitrary, async (given) => {
      for (const outcome of [(await holds(given)) ?? []].flat()) reached.set(outcome, (reached.get(outcome) ?? 0) + 1);
    });
    const details = await fc.check(example, { ...parameters, includeErrorInReport: true });
    if (details.failed)
      throw new CounterexampleError(fc.defaultReportMessage(details) ?? name, details.counterexamplePath);
    return reached;
  };
  return { name, reaches, check };
}

export class CounterexampleError extends Error {
  override readonly name = "CounterexampleError";
  /** Which of the examples it was, before it was made smaller. */
  readonly run: number;

  constructor(message: string, path: string | null) {
    super(message);
    this.run = Number.parseInt(path ?? "0", 10);
  }
}

/** Writing to any of it throws: modules are strict. Maps and sets are left as they are. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (value instanceof Map || value instanceof Set) {
    for (const inner of value.values()) frozen(inner);
    return value;
  }
  if (!(value instanceof Date)) for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}
