/**
 * Defines a property with a name. `npm run fuzz` checks a property many times with a new seed. The tests check a
 * property a few times with a fixed seed.
 */
import * as fc from "fast-check";

const TIMES = Number(process.env["FUZZ_TIMES"] ?? 1);
const SEED = Number(process.env["FUZZ_SEED"] ?? (TIMES === 1 ? 20_261_120 : Date.now() % 2 ** 31));
export const LONG = { timeout: 60_000 * TIMES };

/**
 * Creates a property. `holds` throws an error, or returns the outcomes of an example. `check` resolves to the number of
 * examples for each outcome.
 */
export function property<T>(name: string, arbitrary: fc.Arbitrary<T>, holds: (given: T) => Promise<readonly string[]>) {
  const check = async (numRuns: number): Promise<ReadonlyMap<string, number>> => {
    const reached = new Map<string, number>();
    const example = fc.asyncProperty(arbitrary, async (given) => {
      for (const outcome of await holds(given)) reached.set(outcome, (reached.get(outcome) ?? 0) + 1);
    });
    await fc.assert(example, { seed: SEED, numRuns: numRuns * TIMES, includeErrorInReport: true });
    return reached;
  };
  return { name, check };
}
