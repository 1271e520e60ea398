/** `lifeboat completion`: commands and flags, for bash and zsh. */
import { Argument, type CommandUnknownOpts, type Option } from "@commander-js/extra-typings";
import { type Add, EXIT } from "./command.ts";

export const completion: Add = (program, { host, ends }) => {
  program
    .command("completion")
    .summary("completion for bash and zsh")
    .description("bash: source <(lifeboat completion bash)\n\nzsh: source <(lifeboat completion zsh)")
    .addArgument(new Argument("<shell>").choices(["bash", "zsh"]))
    .action(
      ends(async (shell) => {
        const zsh = shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
        host.stdout.write(zsh + scriptOf(program));
        return await Promise.resolve(EXIT.done);
      }),
    );
};

/** The words before the one that is being typed decide, without flags and their values; nodes, pods and VMs are kubectl's to list. */
function scriptOf(program: CommandUnknownOpts): string {
  return `_lifeboat() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=() word flag="" next=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word != = ]] || continue
    case "$flag" in ${takingValues(program).join(" | ")}) flag=""; continue ;; esac
    flag="$word"
    [[ $word == -* ]] || words+=("$word")
  done
  case "$flag" in
${choicesOf(program).join("\n")}
    ${takingValues(program).join(" | ")}) return ;;
  esac
  case "\${words[*]}" in
${casesOf(program, []).join("\n")}
  esac
  case "\${words[*]}" in
    "explain node" | drain) [[ $current == -* ]] || next="$(kubectl get nodes -o name 2>/dev/null | sed 's|^node/||')" ;;
    "explain pod") [[ $current == -* ]] || next="$(kubectl get pods -o name 2>/dev/null | sed 's|^pod/||')" ;;
    evacuate | cancel | retry) [[ $current == -* ]] || next="$(kubectl get vmi -o name 2>/dev/null | sed 's|.*/||')" ;;
  esac
  COMPREPLY=($(compgen -W "$next" -- "$current"))
}
complete -F _lifeboat lifeboat kubectl-lifeboat
`;
}

function optionsOf(command: CommandUnknownOpts): readonly Option[] {
  return [...command.options, ...command.commands.flatMap((one) => optionsOf(one))];
}

/** Flags whose next word is their value. */
function takingValues(program: CommandUnknownOpts): readonly string[] {
  const flags = optionsOf(program).filter(({ required }) => required);
  return [...new Set(flags.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined)))];
}

/** What may follow a flag that takes one of a few words, whichever the command is. */
function choicesOf(program: CommandUnknownOpts): readonly string[] {
  const limited = optionsOf(program).filter(({ argChoices }) => argChoices !== undefined);
  const byFlag = Map.groupBy(limited, ({ short, long }) => [short, long].filter(Boolean).join(" | "));
  return [...byFlag].map(([flags, options]) => {
    const words = [...new Set(options.flatMap(({ argChoices = [] }) => argChoices))].join(" ");
    return `    ${flags}) COMPREPLY=($(compgen -W "${words}" -- "$current")); return ;;`;
  });
}

/** What may follow: a command's own commands, else its options. */
function casesOf(command: CommandUnknownOpts, words: readonly string[]): readonly string[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command);
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].map(({ long }) => long);
  const next = below.length > 0 ? below.map((one) => one.name()) : options;
  const said = words.join(" ");
  const pattern = below.length > 0 ? `"${said}"` : `"${said}" | "${said} "*`;
  return [
    `    ${pattern}) next="${next.join(" ")}" ;;`,
    ...below.flatMap((one) => casesOf(one, [...words, one.name()])),
  ];
}
