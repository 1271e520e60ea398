/** `lifeboat completion`: commands and flags, for bash and zsh. */
import { Argument, type CommandUnknownOpts } from "@commander-js/extra-typings";
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

/** The words before the one that is being typed decide; nodes, pods and VMs are kubectl's to list. */
function scriptOf(program: CommandUnknownOpts): string {
  return `_lifeboat() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=() word next=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do [[ $word == -* ]] || words+=("$word"); done
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
