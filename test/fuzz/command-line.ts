/** The command line of `npm run fuzz`. */
import { parseArgs } from "node:util";

export const USAGE = `Usage: npm run fuzz [-- [--requests N] [--seed S] [--from K] [--properties N] [--command N] [--worker N]]

  --requests N    requests to the doors, in Node, by a clock of its own (default 10000)
  --seed S        repeats an earlier run (default: another one each time)
  --from K        begins with request K of that seed
  --properties N  examples of each property of policy and configuration (default: a tenth of the requests)
  --command N     calls of the command lifeboat (default: a fiftieth of the requests)
  --worker N      requests to the bundled Worker in workerd, by the real clock (default: a fiftieth of the requests)
  --help          show this text
`;

const text = { type: "string" } as const;
const OPTIONS = { requests: text, seed: text, from: text, properties: text, command: text, worker: text } as const;
type Option = keyof typeof OPTIONS;

export type Arguments = Readonly<Record<Option, number>> & { readonly help: boolean };

export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function parseArguments(args: readonly string[], now: Date): Arguments {
  const { help = false, ...given } = parseFlags(args);
  const number = (name: Option, fallback: number) => {
    const said = given[name] ?? String(fallback);
    if (!/^\d{1,10}$/.test(said)) throw new UsageError(`--${name}: expected a whole number`);
    return Number(said);
  };
  const requests = number("requests", 10_000);
  return {
    requests,
    seed: number("seed", now.getTime() % 2 ** 31),
    from: number("from", 0),
    properties: number("properties", Math.ceil(requests / 10)),
    command: number("command", Math.ceil(requests / 50)),
    worker: number("worker", Math.ceil(requests / 50)),
    help,
  };
}

function parseFlags(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { ...OPTIONS, help: { type: "boolean" } }, strict: true }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
