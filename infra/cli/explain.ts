/** `lifeboat explain`: will a drain of this node succeed, and what would an eviction of this pod get? */
import { reviewEviction } from "../../shared/eviction/review.ts";
import { explanationOf, OUTCOMES } from "../../shared/eviction/explanation.ts";
import { REMEDY } from "../../shared/eviction/messages.ts";
import { observePreflight } from "../../shared/preflight/observe.ts";
import { timeText } from "../../shared/preflight/verdict.ts";
import type { DrainFlags, NodeVerdict, PodVerdict, Preflight, PreflightFacts } from "../../shared/preflight/facts.ts";
import { isInTheWay, preflight } from "../../shared/preflight/verdict.ts";
import { subjectOf } from "../../shared/preflight/progress.ts";
import { type Add, EXIT, type ExitCode, output } from "./command.ts";
import type { Connection } from "./connection.ts";
import { Failed } from "./failed.ts";
import type { Host, Stream } from "./host.ts";
import { printData, paintFor, plain, type Paint, printTable } from "./print.ts";
import { keyOf } from "../../shared/kube/objects.ts";

export const FORCE = ["--force", "as with kubectl drain: pods without a controller go, too"] as const;
export const EMPTY_DIR = ["--delete-emptydir-data", "as with kubectl drain: pods with an emptyDir go, too"] as const;

export const explain: Add = (program, call) => {
  const questions = program.command("explain");
  explainNode(questions, call);
  explainPod(questions, call);
};

const explainNode: Add = (questions, { host, connect, ends }) => {
  questions
    .command("node")
    .summary("whether a drain of the node would succeed, and what happens to each pod")
    .description(
      `Says, from what is true now, whether a drain of the node will succeed: what moves, what is shut down, what blocks and who
can change it, who has no room elsewhere, and how long it takes. Changes nothing.

Exit code: 0 it will succeed, 3 it will block or there is no room, 4 not everything could be read, 1 the question could not be answered.`,
    )
    .argument("<node>")
    .option(...FORCE)
    .option(...EMPTY_DIR)
    .addOption(output(["json", "yaml", "wide"], "data, or wide: every pod, with its message"))
    .action(
      ends(async (node, { output: form, force, deleteEmptydirData }) => {
        const flags = { force: force === true, deleteEmptyDirData: deleteEmptydirData === true };
        const result = preflight(await observeNode(node, flags, { connection: connect(), host }));
        if (form === "json" || form === "yaml") printData(result, form, host);
        else printPreflight(result, form === "wide", host);
        return EXIT_OF[result.verdict];
      }),
    );
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

const explainPod: Add = (questions, { host, connect, ends }) => {
  questions
    .command("pod")
    .summary("what an eviction of the pod would get, and why")
    .description(
      `Says, from what is true now, what an eviction of the pod would be answered by Lifeboat, and why. Changes nothing.
Budgets are the API server's: explain node takes them into account.

Exit code: 0 answered, whatever the answer is; 1 the question could not be answered.`,
    )
    .argument("<pod>")
    .addOption(output(["json", "yaml"]))
    .action(
      ends(async (named, { output: form }) => {
        const connection = connect();
        const name = named.replace(/^pods?\//, "");
        const [cluster, key] = [connection.cluster(), { namespace: connection.namespace, name }];
        const request = { username: "explain", cause: "ApiEviction" } as const;
        const review = await reviewEviction(
          { key, pod: cluster.get("pods", key), request },
          { cluster, settings: connection.settings, now: host.now() },
        );
        const explanation = explanationOf(review);
        if (explanation === undefined) throw new Failed(`pod "${name}" not found in namespace "${key.namespace}"`);
        if (form === undefined) printExplanation(explanation, host);
        else printData(explanation, form, host);
        return EXIT.done;
      }),
    );
};

function printExplanation(explanation: NonNullable<ReturnType<typeof explanationOf>>, host: Host): void {
  const { pod, decision, cooldown, facts } = explanation;
  const paint = paintFor(host.stdout, host);
  const verdict = decision.allowed ? paint("allowed", "green") : paint("refused (429)", "yellow");
  const words = [...("message" in decision ? [decision.message] : []), ...decision.warnings];
  const vm = facts.vmi && `VM ${keyOf(facts.vmi)}, eviction strategy ${facts.vmi.strategy}`;
  host.stdout.write(`pod ${pod}: an eviction would be ${verdict}: ${decision.reason}\n`);
  for (const line of [vm, OUTCOMES[decision.reason], ...words, cooldown]) {
    if (line !== undefined) host.stdout.write(`  ${plain(line)}\n`);
  }
}

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
  say(`${paint(mark, style)} ${paint(result.verdict, "bold")}: ${plain(result.summary)}`);
  if (result.time !== undefined && result.time.moves > 0) say(`  ${plain(timeText(result.time))}`);
  for (const pod of result.pods.filter(isInTheWay)) for (const line of troubleOf(pod, paint)) say(line);
  for (const what of result.unknown) say(`${paint("‼", "yellow")} not known: ${plain(what)}`);
  const shown = wide ? result.pods : result.pods.filter(isWorthALine);
  if (shown.length > 0) {
    say("");
    printTable(["NAMESPACE", "NAME", "OUTCOME", "TO", wide ? "MESSAGE" : "REASON"], shown.map(rowOf(wide)), stream);
  }
}

/** What happens to the VMs; ordinary pods are many, and nothing happens to them that one would not expect. */
function isWorthALine(pod: PodVerdict): boolean {
  return pod.vmi !== undefined || isInTheWay(pod);
}

/** What is the matter with a pod, and who can change it. */
export function troubleOf(pod: PodVerdict, paint: Paint): readonly string[] {
  const { outcome, message, remedy, room } = pod;
  const isHomeless = outcome !== "Blocked" && room?.fits === false;
  const mark = outcome === "ShutsDown" && !isHomeless ? paint("‼", "yellow") : paint("×", "red");
  const [said, fix] = isHomeless ? [room.message ?? "", REMEDY.NoRoom] : [message, remedy];
  return [
    "",
    `${mark} ${subjectOf(pod)}: ${plain(said)}`,
    ...(fix === undefined ? [] : [`    ${paint(plain(fix), "dim")}`]),
  ];
}

function rowOf(wide: boolean) {
  return ({ namespace, name, vmi, outcome, reason, message, room }: PodVerdict): readonly string[] => {
    const to = room === undefined ? "" : (room.node ?? "no room");
    return [namespace, vmi ?? name, outcome, to, wide ? message : reason];
  };
}
