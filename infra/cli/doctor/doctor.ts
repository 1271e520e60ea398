/** `lifeboat doctor`: is this installation in order, and what fixes what is not? */
import { type Command, COMMON_USAGE, connectionOf, formOf, noWords, readCommand } from "../command.ts";
import type { Connection } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { Host } from "../host.ts";
import { printData } from "../print.ts";
import type { Check, Status } from "./check.ts";
import { inGroup, judge, worstOf } from "./judge.ts";
import { judgeServer } from "./judge-kubernetes.ts";
import { printChecks } from "./print-checks.ts";
import { readFacts, readVersion } from "./read-facts.ts";

export const doctor: Command = {
  words: ["doctor"],
  summary: "whether this installation is in order, and what fixes what is not",
  usage: `doctor [-o json|yaml]

Examines Kubernetes, KubeVirt, Lifeboat, the relay, credentials and the shield, from the kubeconfig alone, and evicts one VM's pod in a
dry run. Changes nothing. Below what is wrong: why, and the command that fixes it.

Exit codes: 0 nothing failed, 3 a check failed, 4 none failed and something could not be read.

  -o, --output FORM           json or yaml
${COMMON_USAGE}
`,
  flags: {},
  async run(args, host, opened) {
    const { values, positionals } = readCommand(args, {});
    noWords(positionals);
    const form = formOf(values.output, ["json", "yaml"]);
    const connection = connectionOf(values, host, opened);
    const checks = await examine(connection, host);
    if (host.interrupted.aborted) return EXIT.interrupted;
    const status = worstOf(checks);
    const { context, server } = connection;
    if (form === undefined) printChecks(checks, host);
    else printData({ status, context, server, checks }, form, host);
    return EXIT_OF[status];
  },
};

async function examine(connection: Connection, host: Host): Promise<readonly Check[]> {
  const version = await readVersion(connection);
  if ("unread" in version) return inGroup("Kubernetes", judgeServer(version, connection));
  return judge(await readFacts(connection, version, host.now()));
}

const EXIT_OF = {
  ok: EXIT.done,
  warning: EXIT.done,
  unread: EXIT.unknown,
  failed: EXIT.no,
} as const satisfies Record<Status, ExitCode>;
