/** Parses the arguments of a tool. Ends the tool with a message if an argument is wrong. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { UsageError } from "../../cli/failed.ts";

export const TEXT = { type: "string" } as const;
export const TEXTS = { type: "string", multiple: true } as const;
export const FLAG = { type: "boolean", default: false } as const;
export const HELP = { type: "boolean", default: false, short: "h" } as const;

export function readArguments<T extends ParseArgsOptionsConfig>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Parses flags. Throws an error for positional arguments. */
export function readFlags<T extends ParseArgsOptionsConfig>(args: readonly string[], options: T) {
  const { values, positionals } = readArguments(args, options);
  if (positionals[0] !== undefined) throw new UsageError(`unexpected argument ${positionals[0]}`);
  return values;
}

export function countOf(flag: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`${flag}: expected a whole number of at least 1, got "${text}"`);
}

export function notEmpty(flag: string, text: string, expected: string): string {
  if (text === "") throw new UsageError(`${flag}: expected ${expected}`);
  return text;
}

/** Returns the name. Throws an error that starts with `what` if the name is unknown. */
export function nameOf<T extends string>(known: readonly T[], name: string, what: string): T {
  const found = known.find((one) => one === name);
  if (found === undefined) throw new UsageError(`${what} ${name}; there are ${known.join(", ")}`);
  return found;
}

function isExpected(error: unknown): error is Error {
  return error instanceof Error && ("syscall" in error || error.name === "Failed");
}

/** Runs a tool and ends the process. The exit code is 2 for wrong arguments, and 1 for a failure. */
export async function runTool(usage: string, main: () => Promise<number | void>): Promise<void> {
  try {
    process.exitCode = (await main()) ?? 0;
  } catch (error) {
    if (error instanceof UsageError) console.error(`${error.message}\n\n${usage}`);
    else console.error(isExpected(error) ? error.message : error);
    process.exit(error instanceof UsageError ? 2 : 1);
  }
}
