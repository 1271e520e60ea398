/** A property with its name. `npm run fuzz` tries it many times with a seed of its own, the tests a few times with the same seed. */
import * as fc from "fast-check";

const TIMES = Number(process.env["FUZZ_TIMES"] ?? 1);
const SEED = Number(process.env["FUZZ_SEED"] ?? (TIMES === 1 ? 20_261_120 : Date.now() % 2 ** 31));
/** Of a test that checks one. */
export const LONG = { timeout: 60_000 * TIMES };

/** What an example has come to. */
type Outcomes = void | string | readonly string[];

export interface Property {
  readonly name: string;
  /** What some example or other comes to, if there are a few hundred of them: else the property would say little. */
  readonly reaches: readonly string[];
  /** How often the examples have come to what. Throws if one breaks the property: fast-check names its seed. */
  readonly check: (numRuns: number, seed?: number) => Promise<ReadonlyMap<string, number>>;
}

export function property<T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  holds: (given: T) => Outcomes | Promise<Outcomes>,
  reaches: readonly string[] = [],
): Property {
  const check = async (numRuns: number, seed = SEED) => {
    const reached = new Map<string, number>();
    const example = fc.asyncProperty(arbitrary, async (given) => {
      for (const outcome of [(await holds(given)) ?? []].flat()) reached.set(outcome, (reached.get(outcome) ?? 0) + 1);
    });
    await fc.assert(example, { seed, numRuns: numRuns * TIMES, includeErrorInReport: true });
    return reached;
  };
  return { name, reaches, check };
}
