/** Every command of `lifeboat`, in the order in which help lists them. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { type Command, COMMON_FLAGS } from "./command.ts";
import { completion } from "./completion.ts";
import { drain } from "./drain/drain.ts";
import { doctor } from "./doctor/doctor.ts";
import { cancel, evacuate, retry } from "./evacuate.ts";
import { evacuations } from "./evacuations.ts";
import { explainNode } from "./explain-node.ts";
import { explainPod } from "./explain-pod.ts";
import { install } from "./install/install.ts";
import { rotate } from "./install/rotate.ts";
import { uninstall } from "./install/uninstall.ts";
import { version } from "./version.ts";

export const COMMANDS: readonly Command[] = [
  explainNode,
  explainPod,
  drain,
  evacuations,
  evacuate,
  cancel,
  retry,
  doctor,
  install,
  rotate,
  uninstall,
  version,
];

export const ALL_COMMANDS: readonly Command[] = [...COMMANDS, completion(COMMANDS)];

/** Which command the words call, flags before or between them or not, and what is left; undefined: none. */
export function findCommand(
  args: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } | undefined {
  const options: ParseArgsOptionsConfig = { ...COMMON_FLAGS };
  for (const { flags } of ALL_COMMANDS) Object.assign(options, flags);
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const said = tokens.filter((token) => token.kind === "positional");
  const command = ALL_COMMANDS.find(({ words }) => words.every((word, at) => said[at]?.value === word));
  if (command === undefined) return undefined;
  const used = new Set(said.slice(0, command.words.length).map(({ index }) => index));
  return { command, rest: args.filter((_, at) => !used.has(at)) };
}

export function helpText(): string {
  const width = Math.max(...ALL_COMMANDS.map(({ words }) => words.join(" ").length));
  const lines = ALL_COMMANDS.map(({ words, summary }) => `  ${words.join(" ").padEnd(width)}  ${summary}`);
  return `lifeboat keeps virtual machines running when Kubernetes wants their pods gone.

Usage: lifeboat COMMAND (or: kubectl lifeboat COMMAND)

${lines.join("\n")}

lifeboat COMMAND --help says more. Exit codes: 0 done, 1 failed, 2 wrong command line, 3 the answer is no, 4 unknown, 130 interrupted.
`;
}
