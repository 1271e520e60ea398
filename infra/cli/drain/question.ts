/** Whether a node is drained, if its drain would not simply end. */
import type { NodeVerdict, Preflight } from "../../../shared/policy/preflight/result.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { EXIT_OF } from "../explain-node.ts";
import type { Host } from "../host.ts";

/** Only a clear yes is one. */
export function isYes(answer: string | undefined): boolean {
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}

/** The exit code, if the node is left as it is. */
export async function refusalOf({ node, verdict }: Preflight, host: Host): Promise<ExitCode | undefined> {
  const answer = await host.ask(`Drain ${node} all the same? [y/N] `);
  if (host.interrupted.aborted) return EXIT.interrupted;
  if (isYes(answer) || (answer === undefined && ENDS[verdict])) return undefined;
  const hint = answer === undefined ? "; --yes drains it all the same" : "";
  host.stderr.write(`nothing has been changed${hint}\n`);
  return answer === undefined ? EXIT_OF[verdict] : EXIT.no;
}

/** Where there is no terminal to ask on. */
const ENDS = {
  Drains: true,
  DrainsWithShutdowns: true,
  Unknown: false,
  NoRoom: false,
  Blocks: false,
} as const satisfies Record<NodeVerdict, boolean>;
