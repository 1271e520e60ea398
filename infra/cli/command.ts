/** The common parts of all commands: the cluster, the exit codes, and shared options. */
import { type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { isObjectName } from "../../shared/kube/schemas/fields.ts";
import type { Connection } from "./connection.ts";
import { Failed, UsageError } from "./failed.ts";
import type { Host } from "./host.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { printable } from "./print.ts";

/** The exit codes, for scripts. `lifeboat --help` documents them. */
export const EXIT = {
  done: 0,
  /** The command could not do its work, for example because the cluster does not answer. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The answer is no: a drain would not finish, or a check has failed. */
  no: 3,
  /** Some data could not be read, so the answer is unknown. */
  unknown: 4,
  /** The person interrupted the command with Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface Call {
  readonly host: Host;
  readonly line: string;
  readonly connect: () => Connection;
  readonly everything: () => Promise<CommandUnknownOpts>;
  readonly ends: <A extends readonly unknown[]>(
    act: (...args: A) => Promise<ExitCode>,
  ) => (...args: A) => Promise<void>;
}

export type Add = (to: CommandUnknownOpts, call: Call) => void;

export const YES = ["-y, --yes", "do not ask before the change (for scripts)"] as const;

export interface With {
  readonly connection: Connection;
  readonly host: Host;
}

/**
 * Prints the context and the server, and asks the person before a change. Throws unless the person agrees or passes
 * `--yes`.
 */
export async function agree(
  question: string,
  { yes }: { readonly yes?: true | undefined },
  { connection, host }: With,
): Promise<void> {
  host.stderr.write(`${printable(MESSAGES.where(connection))}\n`);
  if (yes === true) return;
  const answer = await host.ask(MESSAGES.yesOrNo(question));
  if (answer === undefined) throw new UsageError(MESSAGES.nobodyToAsk);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failed(MESSAGES.nothingChanged);
}

const FORMS = ["table", "wide", "json", "yaml"] as const;
export type Form = (typeof FORMS)[number];

/**
 * Returns the option `-o` for the output format. `about` is the option's help text, and `further` lists additional
 * formats.
 */
export function output<const T extends readonly string[] = []>(about?: string, further?: T) {
  const choices: readonly (Form | T[number])[] = [...FORMS, ...(further ?? [])];
  return new Option("-o, --output <form>", about).choices(choices).default("table" as const);
}

const UNITS: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600 };

/** Parses a duration such as `30s`, `5m` or `1h`, and returns its seconds. A number without a unit means seconds. */
export function secondsOf(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})(s|m|h|)$/.exec(text) ?? [];
  const seconds = Number(count) * (UNITS[unit] ?? 0);
  if (seconds > 0) return seconds;
  throw new InvalidArgumentError(MESSAGES.expectedDuration);
}

export function timeout(about: string, otherwise: string) {
  return new Option("--timeout <time>", about).argParser(secondsOf).default(secondsOf(otherwise), otherwise);
}

/** The prefixes for kinds, as in kubectl: `node/worker-1`. */
export const KIND = {
  node: /^nodes?\//i,
  pod: /^pods?\//i,
  vm: /^(?:vmi?s?|virtualmachine(?:instance)?)\//i,
} as const;

/** Returns a parser for the name of an object, such as `worker-1` or `node/worker-1`. */
export function nameMatching(what: string, kind: RegExp): (text: string) => string {
  return (text) => {
    const name = text.replace(kind, "");
    if (isObjectName(name)) return name;
    throw new InvalidArgumentError(MESSAGES.expectedName(what));
  };
}

/** Returns a parser for an argument that a person can give several times. Drops duplicate names. */
export function namesOf(what: string, kind: RegExp): (text: string, before: readonly string[]) => readonly string[] {
  const name = nameMatching(what, kind);
  return (text, before) => [...new Set([...before, name(text)])];
}
