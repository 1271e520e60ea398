/** `lifeboat pause` and `resume`, and `cancel node/NAME`: changes of a node's NodeEvacuation that has not ended. */
import { hasEnded, type NodeEvacuationFacts } from "../../shared/kube/node-evacuation.ts";
import { type Change, changeNodeEvacuation } from "../../shared/maintenance/api.ts";
import { type Add, EXIT, type ExitCode, nameMatching } from "./command.ts";
import type { Connection } from "./connection.ts";
import { Failed } from "./failed.ts";
import type { Host } from "./host.ts";
import { meant, similar } from "./suggest.ts";

/** As kubectl names them. */
export const NODE_WORD = /^(?:nodes?|no|nevac|nodeevacuations?(?:\.lifeboat\.dev)?)\//i;

const OBJECT_WORD = /^(?:nevac|nodeevacuations?(?:\.lifeboat\.dev)?)\//i;

/** The kind says whether it names the node or the object. */
export function nodeWord(text: string): string {
  nameMatching("node", NODE_WORD)(text);
  return text;
}

export const pause: Add = (program, { host, connectToChange, ends }) => {
  program
    .command("pause")
    .description("Nothing new begins on the node: what moves continues, and the node stays cordoned.")
    .argument("<node>", "its name, or nodeevacuation/NAME", nodeWord)
    .action(ends((word) => changeAll(word, "pause", { connection: connectToChange(), host })));
};

export const resume: Add = (program, { host, connectToChange, ends }) => {
  program
    .command("resume")
    .description("The maintenance of the node that was paused continues.")
    .argument("<node>", "its name, or nodeevacuation/NAME", nodeWord)
    .action(ends((word) => changeAll(word, "resume", { connection: connectToChange(), host })));
};

interface With {
  readonly connection: Connection;
  readonly host: Host;
}

const DONE = { pause: "paused", resume: "resumed", cancel: "cancelled" } as const satisfies Record<Change, string>;

async function changeAll(word: string, change: Change, { connection, host }: With): Promise<ExitCode> {
  for (const one of await unfinishedOf(word, connection)) {
    await changed(one, change, connection);
    host.stdout.write(`nodeevacuation.lifeboat.dev/${one.name} ${DONE[change]}\n`);
  }
  return EXIT.done;
}

/** A bare word is the name of a node: an object of that name may be about another node. */
async function unfinishedOf(word: string, connection: Connection): Promise<readonly NodeEvacuationFacts[]> {
  const name = word.replace(NODE_WORD, "");
  const isObjects = OBJECT_WORD.test(word);
  const all = await connection.cluster().list("nodeevacuations");
  const found = all.filter((one) => (isObjects ? one.name : one.spec.nodeName) === name && !hasEnded(one));
  if (found.length > 0) return found;
  if (isObjects) throw new Failed(`no NodeEvacuation "${name}" is scheduled or under way`);
  const isName = all.some((one) => one.name === name && !hasEnded(one));
  const open = all.filter((one) => !hasEnded(one)).map(({ spec }) => spec.nodeName);
  const hint = isName ? `; the object of that name is nodeevacuation/${name}` : meant(similar(name, open));
  throw new Failed(`no maintenance of node "${name}" is scheduled or under way${hint}`);
}

async function changed(one: NodeEvacuationFacts, change: Change, connection: Connection): Promise<void> {
  const result = await changeNodeEvacuation(one, change, connection.cluster());
  if (result === "TryAgain") throw new Failed(`NodeEvacuation ${one.name} has changed meanwhile: try again`);
  if (result === "Lacking") throw new Failed(`you are not allowed to do this: ${saidBy(connection)}`);
}

function saidBy({ refusals }: Connection): string {
  return [...refusals.values()].at(-1) ?? "the API server does not say why";
}

const POLL_MS = 1000;
/** Without a relay the tick of every minute sees it. */
const SEEN_SECONDS = 90;
/** With one, that takes a moment. */
export const SILENT_SECONDS = 3;
export const WAITING = "waiting for Lifeboat, which without a relay acts once a minute …";

/** Until the node is uncordoned, and what has not moved stays. */
export async function cancelNode(word: string, { connection, host }: With): Promise<ExitCode> {
  const found = await unfinishedOf(word, connection);
  for (const one of found) await changed(one, "cancel", connection);
  const began = host.now().getTime();
  let isSaid = false;
  for (let open = found; open.length > 0;) {
    if (host.interrupted.aborted) return EXIT.interrupted;
    const seconds = (host.now().getTime() - began) / 1000;
    if (seconds > SILENT_SECONDS && !isSaid) host.stderr.write(`${WAITING}\n`);
    isSaid = seconds > SILENT_SECONDS;
    if (seconds > SEEN_SECONDS) {
      throw new Failed(
        `nothing has taken this up for ${SEEN_SECONDS} s: is Lifeboat running? \`lifeboat doctor\` looks.`,
      );
    }
    await host.wait(POLL_MS);
    const all = await connection.cluster().list("nodeevacuations");
    open = all.filter((one) => !hasEnded(one) && found.some(({ uid }) => uid === one.uid));
  }
  for (const { name } of found) host.stdout.write(`nodeevacuation.lifeboat.dev/${name} cancelled\n`);
  return EXIT.done;
}
