/** One call of `lifeboat`, from its words to its exit code. */
import { UsageError } from "../tools/console/arguments.ts";
import { ALL_COMMANDS, findCommand, helpText } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { wordsOf } from "./failed.ts";
import type { Host } from "./host.ts";

export async function run(args: readonly string[], host: Host): Promise<ExitCode> {
  if (args.length === 0 || isHelp(args[0])) {
    host.stdout.write(helpText());
    return EXIT.done;
  }
  const found = findCommand(args);
  if (found === undefined) {
    const isBegun = ALL_COMMANDS.some(({ words }) => words.length > 1 && words[0] === args[0]);
    const what = isBegun ? `expected one of these after "${args[0]}"` : `unknown command "${args.join(" ")}"`;
    host.stderr.write(`error: ${what}\n\n${helpText()}`);
    return EXIT.usage;
  }
  const { command, rest } = found;
  if (rest.some(isHelp)) {
    host.stdout.write(`Usage: lifeboat ${command.usage}`);
    return EXIT.done;
  }
  let connection: Connection | undefined;
  try {
    return await command.run(rest, host, (opened) => (connection = opened));
  } catch (error) {
    if (host.interrupted.aborted) return EXIT.interrupted;
    if (error instanceof UsageError) {
      host.stderr.write(`error: ${error.message}\nlifeboat ${command.words.join(" ")} --help says more.\n`);
      return EXIT.usage;
    }
    const words = wordsOf(error, connection);
    if (words === undefined) throw error;
    host.stderr.write(`error: ${words}\n`);
    return EXIT.failed;
  }
}

function isHelp(word: string | undefined): boolean {
  return word === "--help" || word === "-h" || word === "help";
}
