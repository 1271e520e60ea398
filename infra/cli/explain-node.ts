/** `lifeboat explain node`: will a drain of this node succeed? */
import { observePreflight } from "../../shared/pass/observe-preflight.ts";
import type { DrainFlags, NodeVerdict, PreflightFacts } from "../../shared/policy/preflight/facts.ts";
import { preflight } from "../../shared/policy/preflight/verdict.ts";
import { FLAG } from "../tools/console/arguments.ts";
import { type Command, COMMON_USAGE, connectionOf, formOf, nameIn, readCommand } from "./command.ts";
import type { Connection } from "./connection.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { Failed } from "./failed.ts";
import type { Host } from "./host.ts";
import { printPreflight } from "./print-preflight.ts";
import { printData } from "./print.ts";

export const DRAIN_FLAGS = { force: FLAG, "delete-emptydir-data": FLAG } as const;

export const explainNode: Command = {
  words: ["explain", "node"],
  summary: "whether a drain of the node would succeed, and what happens to each pod",
  usage: `explain node NODE [--force] [--delete-emptydir-data] [-o json|yaml|wide]

Says, from what is true now, whether a drain of the node will succeed: what moves, what is shut down, what blocks and who can change it, who
has no room elsewhere, and how long it takes. Changes nothing.

      --force                 as with kubectl drain: pods without a controller go, too
      --delete-emptydir-data  as with kubectl drain: pods with an emptyDir go, too
  -o, --output FORM           json, yaml, or wide: every pod, with its message
${COMMON_USAGE}

Exit code: 0 it will succeed, 3 it will block, 4 not everything could be read, 1 the question could not be answered.
`,
  flags: DRAIN_FLAGS,
  async run(args, host, opened) {
    const { values, positionals } = readCommand(args, DRAIN_FLAGS);
    const node = nameIn(positionals, "NODE");
    const form = formOf(values.output, ["json", "yaml", "wide"]);
    const connection = connectionOf(values, host, opened);
    const flags = { force: values.force, deleteEmptyDirData: values["delete-emptydir-data"] };
    const result = preflight(await observeNode(node, flags, { connection, host }));
    if (form === "json" || form === "yaml") printData(result, form, host);
    else printPreflight(result, form === "wide", host);
    return EXIT_OF[result.verdict];
  },
};

export async function observeNode(
  node: string,
  flags: DrainFlags,
  { connection, host }: { readonly connection: Connection; readonly host: Host },
): Promise<PreflightFacts> {
  const settings = await connection.settings();
  const facts = await observePreflight(node, flags, { cluster: connection.cluster(), settings, now: host.now() });
  if (facts === undefined) throw new Failed(`node "${node}" not found (context "${connection.context}")`);
  return facts;
}

export const EXIT_OF = {
  WillSucceed: EXIT.done,
  WillSucceedWithShutdowns: EXIT.done,
  Unknown: EXIT.unknown,
  NoRoom: EXIT.no,
  WillBlock: EXIT.no,
} as const satisfies Record<NodeVerdict, ExitCode>;
