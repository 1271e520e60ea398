/** What every command of `lifeboat` has in common: flags as kubectl's, the cluster, the form of the output. */
import type { ParseArgsOptionsConfig } from "node:util";
import { FLAG, HELP, readArguments, TEXT, UsageError } from "../tools/console/arguments.ts";
import { type Connection, openConnection } from "./connection.ts";
import type { ExitCode } from "./exit-code.ts";
import type { Host } from "./host.ts";

export interface Command {
  /** The words that call it: `["explain", "node"]`. */
  readonly words: readonly string[];
  /** One line, without a full stop. */
  readonly summary: string;
  /** What follows `lifeboat`, then what there is to know. */
  readonly usage: string;
  /** Beside those that every command has. */
  readonly flags: ParseArgsOptionsConfig;
  readonly run: (args: readonly string[], host: Host, opened: Opened) => Promise<ExitCode>;
}

/** Told of the connection, for the words of an error. */
export type Opened = (connection: Connection) => void;

export const COMMON_FLAGS = {
  kubeconfig: TEXT,
  context: TEXT,
  namespace: { ...TEXT, short: "n" },
  "request-timeout": TEXT,
  output: { ...TEXT, short: "o" },
  help: HELP,
} as const;

export const COMMON_USAGE = `      --kubeconfig FILE       (default: $KUBECONFIG, else ~/.kube/config)
      --context NAME          a context of the kubeconfig
  -n, --namespace NAME        (default: the context's)
      --request-timeout 30s   how long the API server may take to answer
  -h, --help`;

export const ALL_NAMESPACES = { "all-namespaces": { ...FLAG, short: "A" } } as const;

interface CommonValues {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
  readonly "request-timeout"?: string | undefined;
}

/** Reads the flags that the command has, and those that all have. */
export function readCommand<T extends ParseArgsOptionsConfig>(args: readonly string[], flags: T) {
  try {
    return readArguments(args, { ...COMMON_FLAGS, ...flags });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    // Node's advice on words that begin with "-": no name does.
    throw new UsageError(error.message.replace(/\. To specify a positional argument .*$/s, ""), { cause: error });
  }
}

export function connectionOf(values: CommonValues, host: Host, opened: Opened): Connection {
  const { kubeconfig, context, namespace } = values;
  const timeout = secondsOf("--request-timeout", values["request-timeout"] ?? "30s");
  const connection = openConnection({ kubeconfig, context, namespace, timeout }, host);
  opened(connection);
  return connection;
}

const SECONDS: ReadonlyMap<string | undefined, number> = new Map([
  ["", 1],
  ["s", 1],
  ["m", 60],
  ["h", 3600],
]);

/** As kubectl writes durations, in one unit. */
export function secondsOf(flag: string, text: string): number {
  const [, count, unit] = /^(\d{1,6})(s|m|h|)$/.exec(text) ?? [];
  const seconds = Number(count) * (SECONDS.get(unit) ?? 0);
  if (seconds > 0) return seconds;
  throw new UsageError(`${flag}: expected a time such as 30s, 5m or 1h, got "${text}"`);
}

/** One of the forms that the command can print; undefined: for people. */
export function formOf<T extends string>(text: string | undefined, forms: readonly T[]): T | undefined {
  if (text === undefined) return undefined;
  const form = forms.find((one) => one === text);
  if (form === undefined) throw new UsageError(`--output: expected ${listOf(forms)}, got "${text}"`);
  return form;
}

function listOf(words: readonly string[]): string {
  return words.join(", ").replace(/, ([^,]+)$/, " or $1");
}

/** The one word that is no flag. */
export function nameIn(words: readonly string[], what: string): string {
  const [name = "", ...more] = words;
  if (name === "") throw new UsageError(`${what}: expected a name`);
  noWords(more);
  return name;
}

export function noWords([unexpected]: readonly string[]): void {
  if (unexpected !== undefined) throw new UsageError(`unexpected argument "${unexpected}"`);
}
