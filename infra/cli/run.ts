/** One call of `lifeboat`, from its words to its exit code. */
import { Command, CommanderError, type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { VERSION } from "../../functions/env.ts";
import { UsageError } from "../tools/console/arguments.ts";
import { type Add, type Call, EXIT, type ExitCode, secondsOf } from "./command.ts";
import { completion } from "./completion.ts";
import { type Connection, openConnection } from "./connection.ts";
import { doctor } from "./doctor/doctor.ts";
import { drain } from "./drain/drain.ts";
import { cancel, evacuate, retry } from "./evacuate.ts";
import { explainNode, explainPod } from "./explain.ts";
import { wordsOf } from "./failed.ts";
import { type Host } from "./host.ts";
import { install } from "./install/install.ts";
import { rotate } from "./install/rotate.ts";
import { uninstall } from "./install/uninstall.ts";

/** In the order in which help lists them. */
const COMMANDS: readonly Add[] = [drain, evacuate, cancel, retry, doctor, install, rotate, uninstall, completion];
const EXIT_CODES =
  "Exit codes: 0 done, 1 failed, 2 wrong command line, 3 the answer is no, 4 unknown, 130 interrupted.";

export async function run(args: readonly string[], host: Host): Promise<ExitCode> {
  let code: ExitCode = EXIT.done;
  let connection: Connection | undefined;
  const program = createProgram(host);
  addCommands(program, {
    host,
    line: ["lifeboat", ...args].join(" "),
    connect: () => (connection = openConnection(program.opts(), host)),
    ends:
      (act) =>
      async (...words) => {
        code = await act(...words);
      },
  });
  try {
    await program.parseAsync(args.length === 0 ? ["--help"] : args, { from: "user" });
    return code;
  } catch (error) {
    return host.interrupted.aborted ? EXIT.interrupted : afterError(error, connection, host);
  }
}

function afterError(error: unknown, connection: Connection | undefined, { stderr }: Host): ExitCode {
  // It has said it already, or has printed the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const words = error instanceof UsageError ? error.message : wordsOf(error, connection);
  if (words === undefined) throw error;
  stderr.write(`error: ${words}\n`);
  return error instanceof UsageError ? EXIT.usage : EXIT.failed;
}

function createProgram({ stdout, stderr }: Host) {
  return new Command("lifeboat")
    .description("Keeps virtual machines running when Kubernetes wants their pods gone. Also: kubectl lifeboat.")
    .option("--kubeconfig <file>", "(default: $KUBECONFIG, else ~/.kube/config)")
    .option("--context <name>", "a context of the kubeconfig")
    .option("-n, --namespace <name>", "(default: the context's)")
    .addOption(
      new Option("--request-timeout <time>", "how long the API server may take to answer")
        .argParser(secondsOf)
        .default(30, "30s"),
    )
    .version(VERSION, "--version", "the version of this command")
    .addHelpText("after", `\n${EXIT_CODES}`)
    .exitOverride()
    .showHelpAfterError("(--help says more)")
    .configureHelp({
      showGlobalOptions: true,
      commandDescription: (command) => command.description().replaceAll(/(?<!\n)\n(?!\n)/g, " "),
    })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHelpWidth: () => stdout.columns || 80,
      getErrHelpWidth: () => stderr.columns || 80,
    });
}

function addCommands(program: CommandUnknownOpts, call: Call): void {
  const explanations = program
    .command("explain")
    .description("whether a drain of a node would succeed; what an eviction of a pod would get");
  explainNode(explanations, call);
  explainPod(explanations, call);
  for (const add of COMMANDS) add(program, call);
}
