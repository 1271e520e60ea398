/** `lifeboat completion`: commands and flags, for bash and zsh. */
import { UsageError } from "../tools/console/arguments.ts";
import { type Command, COMMON_FLAGS, noWords, readCommand } from "./command.ts";
import { EXIT } from "./exit-code.ts";

export function completion(commands: readonly Command[]): Command {
  return {
    words: ["completion"],
    summary: "completion for bash and zsh",
    usage: `completion bash|zsh

  bash: source <(lifeboat completion bash)
  zsh:  source <(lifeboat completion zsh)
`,
    flags: {},
    async run(args, host) {
      const [shell, ...more] = readCommand(args, {}).positionals;
      if (shell === undefined) throw new UsageError("SHELL: expected bash or zsh");
      if (shell !== "bash" && shell !== "zsh") throw new UsageError(`SHELL: expected bash or zsh, got "${shell}"`);
      noWords(more);
      host.stdout.write(scriptOf(shell, commands));
      return await Promise.resolve(EXIT.done);
    },
  };
}

/** The words before the one that is being typed decide; nodes, pods and VMs are kubectl's to list. */
function scriptOf(shell: "bash" | "zsh", commands: readonly Command[]): string {
  const zsh = shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
  return `${zsh}_lifeboat() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=() word next=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do [[ $word == -* ]] || words+=("$word"); done
  case "\${words[*]}" in
${[...wordCases(commands), ...flagCases(commands)].join("\n")}
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

/** The commands, and what follows `explain`. */
function wordCases(commands: readonly Command[]): readonly string[] {
  const first = new Set(commands.map(({ words }) => words[0]));
  const second = commands.flatMap(({ words: [, word] }) => word ?? []);
  return [`    "") next="${[...first].join(" ")}" ;;`, `    explain) next="${second.join(" ")}" ;;`];
}

function flagCases(commands: readonly Command[]): readonly string[] {
  return commands.map(({ words, flags }) => {
    const all = Object.keys({ ...COMMON_FLAGS, ...flags }).map((flag) => `--${flag}`);
    return `    "${words.join(" ")}" | "${words.join(" ")} "*) next="${all.join(" ")}" ;;`;
  });
}
