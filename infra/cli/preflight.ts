/** Predicts drains of nodes for `explain` and `drain`, and prints the results. */
import { REMEDY } from "../../shared/eviction/messages.ts";
import type { DrainFlags, NodeVerdict, PodVerdict, Preflight, PreflightFacts } from "../../shared/preflight/facts.ts";
import { readPreflight } from "../../shared/preflight/read.ts";
import { subjectOf } from "../../shared/preflight/progress.ts";
import { PREFLIGHT_MESSAGES } from "../../shared/preflight/messages.ts";
import { isInTheWay } from "../../shared/preflight/verdict.ts";
import { EXIT, type ExitCode } from "./command.ts";
import type { Connection } from "./connection.ts";
import { Failed, UsageError } from "./failed.ts";
import type { Host, Stream } from "./host.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { type Paint, paintFor, printable, printTable } from "./print.ts";
import { orNode } from "./suggest.ts";

export const FORCE = ["--force", "pods without a controller leave, too, as with kubectl drain"] as const;
export const EMPTY_DIR = ["--delete-emptydir-data", "pods with an emptyDir leave, too, as with kubectl drain"] as const;

export const SELECTOR = ["-l, --selector <labels>", "all nodes with these labels: pool=x,zone=y"] as const;

/** Returns the named nodes, or the nodes with the given labels. Returns all nodes if neither is given. */
export async function nodesOf(
  named: readonly string[],
  selector: string | undefined,
  connection: Connection,
): Promise<readonly string[]> {
  if (named.length > 0 && selector !== undefined) throw new UsageError(MESSAGES.notBoth);
  if (named.length > 0) return named;
  const labels = Object.fromEntries(
    (selector?.split(",") ?? []).map((term) => {
      const [, key, , value = ""] = /^([\w./-]+)(={1,2}([\w.-]*))?$/.exec(term) ?? [];
      if (key === undefined) throw new UsageError(MESSAGES.oddLabel(term));
      return [key, term.includes("=") ? value : (true as const)];
    }),
  );
  const found = await connection.cluster().list("nodes", { labels });
  if (found.length === 0) throw new Failed(MESSAGES.noNodes(selector, connection.context));
  return found.map(({ name }) => name).toSorted((a, b) => a.localeCompare(b, undefined, { numeric: true }));
}

const WORST_FIRST = ["WillBlock", "NoRoom", "Unknown"] as const;

export function worstExit(found: readonly Preflight[]): ExitCode {
  const worst = WORST_FIRST.find((one) => found.some(({ verdict }) => verdict === one));
  return worst === undefined ? EXIT.done : EXIT_OF[worst];
}

export async function observeNode(
  node: string,
  flags: DrainFlags,
  { connection, host }: { readonly connection: Connection; readonly host: Host },
): Promise<PreflightFacts> {
  const settings = await connection.settings();
  const facts = await readPreflight(node, flags, { cluster: connection.cluster(), settings, now: host.now() });
  if (facts === undefined) throw await nodeNotFound(node, connection);
  return facts;
}

export async function nodeNotFound(node: string, connection: Connection): Promise<Failed> {
  return new Failed(MESSAGES.noNode(node, connection.context, await orNode(node, connection)));
}

export const EXIT_OF = {
  WillSucceed: EXIT.done,
  WillSucceedWithShutdowns: EXIT.done,
  Unknown: EXIT.unknown,
  NoRoom: EXIT.no,
  WillBlock: EXIT.no,
} as const satisfies Record<NodeVerdict, ExitCode>;

const MARKS = {
  WillSucceed: ["√", "green"],
  WillSucceedWithShutdowns: ["‼", "yellow"],
  Unknown: ["‼", "yellow"],
  NoRoom: ["×", "red"],
  WillBlock: ["×", "red"],
} as const satisfies Record<NodeVerdict, readonly [string, Parameters<Paint>[1]]>;

export function printPreflight(result: Preflight, wide: boolean, host: Host, stream: Stream = host.stdout): void {
  const paint = paintFor(stream, host);
  const say = (line: string) => stream.write(`${line}\n`);
  const [mark, style] = MARKS[result.verdict];
  say(`${paint(mark, style)} ${paint(result.verdict, "bold")}: ${printable(result.summary)}`);
  if (result.time !== undefined && result.time.moves > 0) say(`  ${printable(PREFLIGHT_MESSAGES.time(result.time))}`);
  for (const pod of result.pods.filter(isInTheWay)) for (const line of troubleOf(pod, paint)) say(line);
  for (const what of result.unknown) say(`${paint("‼", "yellow")} ${MESSAGES.notKnown(printable(what))}`);
  const shown = wide ? result.pods : result.pods.filter(isWorthALine);
  if (shown.length > 0) {
    say("");
    printTable(["NAMESPACE", "NAME", "OUTCOME", "TO", wide ? "MESSAGE" : "REASON"], shown.map(rowOf(wide)), stream);
  }
}

/**
 * Returns whether the report has a line for the pod. A pod that runs no VM has a line only if its outcome is Blocked or
 * ShutsDown, or if no other node has room for the pod.
 */
function isWorthALine(pod: PodVerdict): boolean {
  return pod.vmi !== undefined || isInTheWay(pod);
}

export function troubleOf(pod: PodVerdict, paint: Paint): readonly string[] {
  const { outcome, message, remedy, room } = pod;
  const isHomeless = outcome !== "Blocked" && room?.fits === false;
  const mark = outcome === "ShutsDown" && !isHomeless ? paint("‼", "yellow") : paint("×", "red");
  const [said, fix] = isHomeless ? [room.message ?? "", REMEDY.NoRoom] : [message, remedy];
  return [
    "",
    `${mark} ${subjectOf(pod)}: ${printable(said)}`,
    ...(fix === undefined ? [] : [`    ${paint(printable(fix), "dim")}`]),
  ];
}

function rowOf(wide: boolean) {
  return ({ namespace, name, vmi, outcome, reason, message, room }: PodVerdict): readonly string[] => {
    const to = room === undefined ? "" : (room.node ?? MESSAGES.noRoom);
    return [namespace, vmi ?? name, outcome, to, wide ? message : reason];
  };
}
