/** Runs the command `lifeboat`, and returns its exit code. */
import { Command, CommanderError, Option } from "@commander-js/extra-typings";
import { VERSION } from "../../functions/env.ts";
import { type Add, type Call, EXIT, type ExitCode, nameMatching, secondsOf } from "./command.ts";
import { type Connection, openConnection } from "./connection.ts";
import { UsageError, wordsOf } from "./failed.ts";
import type { Host } from "./host.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { wrapping } from "./wrap.ts";

/** The commit of the sources, which infra/tools/build-command.ts puts into the bundle. */
declare const BUILT_FROM: string | undefined;
const COMMIT = typeof BUILT_FROM === "undefined" ? "run from its sources" : `commit ${BUILT_FROM}`;

interface Listed {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Add>;
}

function listed<N extends string>(name: N, summary: string, load: () => Promise<Readonly<Record<N, Add>>>): Listed {
  return { name, summary, load: async () => (await load())[name] };
}

const COMPLETION = listed(
  "completion",
  "print a script for completion in bash, zsh or fish",
  () => import("./completion.ts"),
);

/** The commands in the order of the help. Only the module of the called command is loaded. */
// prettier-ignore
const COMMANDS: readonly Listed[] = [
  listed("explain", "predict a drain of a node, or the answer to an eviction of a pod", () => import("./explain.ts")),
  listed("plan", "rehearse a maintenance of many nodes: which can be drained, and when", () => import("./plan/plan.ts")),
  listed("drain", "drain nodes, one after the other: migrate their VMs, and report what blocks", () => import("./drain/drain.ts")),
  listed("status", "show maintenance in progress, what blocks it, and since when", () => import("./status.ts")),
  listed("report", "report the outcome of each node and VM of a maintenance", () => import("./report.ts")),
  listed("pause", "pause a maintenance: start nothing new on its nodes", () => import("./maintenance.ts")),
  listed("resume", "resume a maintenance that was paused", () => import("./maintenance.ts")),
  listed("evacuate", "move a VM to another node", () => import("./evacuate.ts")),
  listed("cancel", "stop the evacuation of a VM, or the maintenance of nodes", () => import("./cancel.ts")),
  listed("retry", "retry a failed evacuation of a VM now", () => import("./evacuate.ts")),
  listed("doctor", "check the installation, and suggest fixes", () => import("./doctor/doctor.ts")),
  listed("install", "install Lifeboat in a cluster, or bring it up to date", () => import("./install/install.ts")),
  listed("uninstall", "remove Lifeboat from a cluster, and list what is left", () => import("./install/uninstall.ts")),
  COMPLETION,
];
const EXIT_CODES =
  "Exit codes: 0 done, 1 failed, 2 wrong command line, 3 the answer is no (a drain blocks, or a check fails), 4 unknown (some data could not be read), 130 interrupted.";

export async function run(args: readonly string[], machine: Host): Promise<ExitCode> {
  const host = wrapping(machine);
  let code: ExitCode = EXIT.done;
  let connection: Connection | undefined;
  const words = wordsFor(args);
  // A shell that completes a word shows the command's standard error between the prompt and the word.
  const warn = (line: string) => void (words[0] !== "complete" && host.stderr.write(line));
  const opened = (program: Program) => (connection = openConnection(program.opts(), host, warn));
  const callIn = (program: Program): Call => {
    return {
      host,
      line: ["lifeboat", ...args].join(" "),
      connect: () => opened(program),
      async everything() {
        const all = createProgram(host);
        for (const { name, summary, load } of COMMANDS.filter((one) => one !== COMPLETION)) {
          (await load())(all, callIn(all));
          all.commands.find((one) => one.name() === name)?.summary(summary);
        }
        return all;
      },
      ends:
        (act) =>
        async (...given) => {
          code = await act(...given);
        },
    };
  };
  const start = async ({ load }: Listed) => {
    const program = createProgram(host);
    (await load())(program, callIn(program));
    await program.parseAsync(words, { from: "user" });
  };
  try {
    await createOverview(host, start).parseAsync(words, { from: "user" });
    return code;
  } catch (error) {
    return host.interrupted.aborted ? EXIT.interrupted : afterError(error, connection, host);
  }
}

function wordsFor(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  return first === undefined || first === "help" ? [...rest, "--help"] : args;
}

function afterError(error: unknown, connection: Connection | undefined, { stderr }: Host): ExitCode {
  // commander has already printed the error or the requested help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const words = error instanceof UsageError ? error.message : wordsOf(error, connection);
  stderr.write(`error: ${words ?? defectOf(error)}\n`);
  return error instanceof UsageError ? EXIT.usage : EXIT.failed;
}

const MOST_CHARACTERS = 200;

function defectOf(error: unknown): string {
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return MESSAGES.defect(said.replaceAll(/\s+/g, " ").slice(0, MOST_CHARACTERS).toWellFormed());
}

type Program = ReturnType<typeof createProgram>;

function createProgram({ stdout, stderr }: Host) {
  return new Command("lifeboat")
    .description("Keeps virtual machines running when Kubernetes wants their pods gone. Also runs as kubectl lifeboat.")
    .option("--kubeconfig <file>", "the kubeconfig (default: $KUBECONFIG, or ~/.kube/config)")
    .option("--context <name>", "the context (default: the kubeconfig's current context)")
    .option(
      "-n, --namespace <name>",
      "the namespace (default: the context's namespace)",
      nameMatching("namespace", /^(?:ns|namespaces?)\//i),
    )
    .addOption(
      new Option("--request-timeout <time>", "how long the API server may take to answer")
        .argParser(secondsOf)
        .default(30, "30s"),
    )
    .version(`${VERSION} (${COMMIT})`, "--version", "the version and the commit of this command")
    .addHelpText("after", `\n${EXIT_CODES}`)
    .helpCommand(false)
    .exitOverride()
    .showHelpAfterError("(see --help)")
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

/** Creates the program that contains the names of all commands but not their arguments. */
function createOverview(host: Host, start: (command: Listed) => Promise<void>): Command {
  const overview = createProgram(host);
  for (const command of COMMANDS) {
    const shown = overview.command(command.name).description(command.summary).helpOption(false);
    shown.allowUnknownOption().allowExcessArguments();
    shown.action(() => start(command));
  }
  const complete = overview.command("complete", { hidden: true }).helpOption(false);
  complete.allowUnknownOption().allowExcessArguments();
  complete.action(() => start(COMPLETION));
  return overview;
}
