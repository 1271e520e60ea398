/** `lifeboat completion`: completes commands and names of objects in a shell. */
import { Argument, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { script } from "@bomb.sh/tab";
import tab from "@bomb.sh/tab/commander";
import { type Add, EXIT } from "./command.ts";
import type { Connection } from "./connection.ts";
import { PARTS } from "./install/manifests.ts";

interface Adapter {
  model(program: object, options: { readonly completionCommandName: string }): ReturnType<typeof tab>;
}
const adapter: Adapter = { model: tab };

const SHELLS = ["bash", "zsh", "fish"] as const;
const NAME = "lifeboat";

/** Adds the commands `completion` and `complete`. A shell calls `complete` when the person presses TAB. */
export const completion: Add = (program, { connect, ends, everything }) => {
  program
    .command("completion")
    .description(
      `Prints a script with which the shell completes commands, options, nodes and VMs.

bash: source <(lifeboat completion bash), in ~/.bashrc; needs the package bash-completion
zsh: source <(lifeboat completion zsh), in ~/.zshrc after compinit
fish: lifeboat completion fish > ~/.config/fish/completions/lifeboat.fish`,
    )
    .addArgument(new Argument("<shell>").choices(SHELLS))
    .action(
      ends(async (shell) => {
        script(shell, NAME, NAME);
        return await Promise.resolve(EXIT.done);
      }),
    );
  program
    .command("complete", { hidden: true })
    .argument("[words...]")
    .action(
      ends(async (words: readonly string[]) => {
        const all = await everything();
        shorten(all);
        const completing = adapter.model(all, { completionCommandName: "completion" });
        for (const command of completing.commands.values()) {
          for (const [name, option] of completing.options) command.options.set(name, option);
          const parts = command.options.get("with");
          if (parts !== undefined)
            parts.handler = (complete) => PARTS.forEach(({ name, about }) => complete(name, about));
        }
        // Reads --kubeconfig, --context and --namespace, and ignores other options.
        const { operands } = program.parseOptions([...words]);
        program.setOptionValue("requestTimeout", READ_SECONDS);
        const names = await namesFor(operands, completing.commands, connect);
        for (const command of completing.commands.values()) {
          for (const argument of command.arguments.values()) {
            argument.handler ??= (complete) => names.forEach((name) => complete(name, ""));
          }
        }
        completing.parse([...words]);
        return EXIT.done;
      }),
    );
};

function shorten(command: CommandUnknownOpts): void {
  for (const one of command.commands) {
    one.description(one.summary());
    shorten(one);
  }
}

/** The time limit for reading names from the cluster, in seconds. The shell is blocked until the names arrive. */
const READ_SECONDS = 2;

type Commands = ReadonlyMap<string, { readonly arguments: ReadonlyMap<string, unknown> }>;

/** Lists the names that the command accepts. Returns no names if the cluster does not answer. */
async function namesFor(
  [first = "", second = ""]: readonly string[],
  commands: Commands,
  connect: () => Connection,
): Promise<readonly string[]> {
  const command = commands.get(`${first} ${second}`) ?? commands.get(first);
  const [argument = ""] = command?.arguments.keys() ?? [];
  const list = LISTS[argument];
  if (list === undefined) return [];
  try {
    return await list(connect());
  } catch {
    return [];
  }
}

type List = (connection: Connection) => Promise<readonly string[]>;

const nodes: List = async ({ cluster }) => (await cluster().list("nodes")).map(({ name }) => name);

const vms: List = async ({ cluster, namespace }) =>
  (await cluster().list("virtualmachineinstances", { namespace })).map(({ name }) => name);

const maintenance: List = async (connection) => [
  ...(await nodes(connection)),
  ...(await connection.cluster().list("rollingmaintenances")).map(({ name }) => `rollm/${name}`),
];

const vmsAndMaintenance: List = async (connection) => [
  ...(await maintenance(connection)),
  ...(await vms(connection)).map((name) => `vm/${name}`),
];

const LISTS: Readonly<Record<string, List>> = { node: nodes, nodes, vm: vms, maintenance, what: vmsAndMaintenance };
