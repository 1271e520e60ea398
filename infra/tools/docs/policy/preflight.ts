/** The preflight as tables for administrators, rendered as Markdown. */
import { NODE_VERDICTS, type NodeVerdict } from "../../../../shared/preflight/facts.ts";
import { code, renderTable } from "./tables.ts";

const VERDICT_WORDS = {
  WillBlock: "some pod is refused, and needs action",
  NoRoom: "some VM that is to move, or a replacement that a budget waits for, fits on no other node",
  Unknown: "something could not be read, or a VM asks for what is not judged",
  WillSucceedWithShutdowns: "every pod goes; some VM is shut down",
  WillSucceed: "every pod goes, every VM moves",
} as const satisfies Record<NodeVerdict, string>;

/** In the order in which they are looked for. */
export function nodeVerdictTable(): string {
  return renderTable([
    ["verdict (the first that applies)", "when"],
    ...NODE_VERDICTS.map((v) => [code(v), VERDICT_WORDS[v]]),
  ]);
}
