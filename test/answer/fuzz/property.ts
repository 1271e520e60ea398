/**
 * A property with its name. `npm run fuzz` tries a property many times with a new seed. The tests try a property a few
 * times with the same seed.
 */
import * as fc from "fast-check";

const TIMES = Number(process.env["FUZZ_TIMES"] ?? 1);
const SEED = Number(process.env["FUZZ_SEED"] ?? (TIMES === 1 ? 20_261_120 : Date.now() % 2 ** 31));
/** The options of a test that checks one property. */
export const LONG = { timeout: 60_000 * TIMES };

/** `holds` throws, or returns the outcome of an example; `check` gets the number of examples by outcome. */
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
