/**
 * The command line of `npm run chaos`.
 * Owns: flags and what is wrong with them. Does not own: what they lead to (main.ts).
 */
import { parseArgs } from "node:util";
import { FAULTS, FAULT_NAMES, type FaultName, isFault } from "./fault-table.ts";

const WIDTH = Math.max(...FAULT_NAMES.map((name) => name.length));

export const USAGE = `Usage: npm run chaos [-- --runs N] [--seed S] [--from K] [--vms M] [--only FAULT…] [--jobs J]

  --runs N      how many runs (default: 20)
  --seed S      what the plans are drawn from (default: a new one, which is printed)
  --from K      the first run (default: 1); with --runs 1 this repeats one run's plan
  --vms M       VMs on the drained node, instead of a number drawn
  --only FAULT  only this fault, instead of some drawn; may be given several times
  --jobs J      processes at a time, each with a cluster of its own (default: 1)
  --verbose     also what the Workers write
  --help        show this text

Faults:
${FAULT_NAMES.map((name) => `  ${name.padEnd(WIDTH)}  ${FAULTS[name].says}`).join("\n")}
`;

export interface Arguments {
  readonly runs: number;
  readonly from: number;
  readonly seed: string;
  readonly vms?: number;
  readonly only?: readonly FaultName[];
  readonly jobs: number;
  readonly verbose: boolean;
  readonly help: boolean;
}

export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function parseArguments(args: readonly string[], newSeed: () => string): Arguments {
  const { runs = "20", from = "1", jobs = "1", seed = newSeed(), vms, only, verbose, help } = parseFlags(args);
  const unknown = only?.find((name) => !isFault(name));
  if (unknown !== undefined)
    throw new UsageError(`--only: there is no fault ${unknown}; there are ${FAULT_NAMES.join(", ")}`);
  if (seed === "") throw new UsageError("--seed: expected a text");
  return {
    runs: countOf("--runs", runs),
    from: countOf("--from", from),
    jobs: countOf("--jobs", jobs),
    seed,
    ...(vms !== undefined && { vms: countOf("--vms", vms) }),
    ...(only !== undefined && { only: only.filter((name) => isFault(name)) }),
    verbose: verbose === true,
    help: help === true,
  };
}

function countOf(flag: string, text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new UsageError(`${flag}: expected a whole number from 1 on, got "${text}"`);
}

function parseFlags(args: readonly string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const only = { type: "string", multiple: true } as const;
  const options = { runs: text, from: text, seed: text, vms: text, only, jobs: text, verbose: flag, help: flag };
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
