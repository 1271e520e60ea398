/**
 * The command line of `npm run fuzz`.
 * Owns: options and what is wrong with them. Does not own: what they lead to (main.ts).
 */
import { parseArgs } from "node:util";

export const USAGE = `Usage: npm run fuzz [-- [--requests N] [--seed S] [--from K] [--properties N] [--worker N]]

  --requests N    requests to the doors, in Node, by a clock of its own (default 10000)
  --seed S        repeats an earlier run (default: another one each time)
  --from K        begins with request K of that seed
  --properties N  examples of each property of policy and configuration (default: a tenth of the requests)
  --worker N      requests to the bundled Worker in workerd, by the real clock (default: a fiftieth of the requests)
  --help          show this text
`;

export interface Arguments {
  readonly requests: number;
  readonly seed: number;
  readonly from: number;
  readonly properties: number;
  readonly worker: number;
  readonly help: boolean;
}

export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function parseArguments(args: readonly string[], now: Date): Arguments {
  const { help = false, ...given } = parseFlags(args);
  const requests = wholeNumber("requests", given.requests) ?? 10_000;
  return {
    requests,
    seed: wholeNumber("seed", given.seed) ?? now.getTime() % 2 ** 31,
    from: wholeNumber("from", given.from) ?? 0,
    properties: wholeNumber("properties", given.properties) ?? Math.ceil(requests / 10),
    worker: wholeNumber("worker", given.worker) ?? Math.ceil(requests / 50),
    help,
  };
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text)) throw new UsageError(`--${name}: expected a whole number`);
  return Number(text);
}

function parseFlags(args: readonly string[]) {
  const text = { type: "string" } as const;
  const options = {
    requests: text,
    seed: text,
    from: text,
    properties: text,
    worker: text,
    help: { type: "boolean" },
  } as const;
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
