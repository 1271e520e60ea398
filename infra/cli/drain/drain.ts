/** `lifeboat drain`: empties a node as kubectl drain does, and says what happens. */
import { object } from "../../../shared/cluster/paths.ts";
import { patch } from "../../../shared/cluster/write.ts";
import type { Preflight, PreflightFacts } from "../../../shared/policy/preflight/facts.ts";
import { preflight } from "../../../shared/policy/preflight/verdict.ts";
import { isBlocked, type Subject, subjectsOf } from "../../../shared/policy/preflight/subjects.ts";
import { FLAG, TEXT, UsageError } from "../../tools/console/arguments.ts";
import { createScreen, type Screen } from "../../tools/console/screen.ts";
import { type Command, COMMON_USAGE, connectionOf, nameIn, readCommand, secondsOf } from "../command.ts";
import type { Connection } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { DRAIN_FLAGS, EXIT_OF, observeNode } from "../explain-node.ts";
import type { Host } from "../host.ts";
import { printPreflight } from "../print-preflight.ts";
import { paintFor } from "../print.ts";
import { emptyNode } from "./empty-node.ts";
import { endingLines, EXIT_OF_ENDING, startLinesOf } from "./ending.ts";
import { createProgress } from "./progress.ts";
import { chooseStops, isYes, type Stops } from "./stops.ts";

const FLAGS = {
  ...DRAIN_FLAGS,
  "ignore-daemonsets": FLAG,
  "grace-period": TEXT,
  "dry-run": FLAG,
  yes: { ...FLAG, short: "y" },
  timeout: TEXT,
  "wait-for-blocked": FLAG,
  "stop-blocked": FLAG,
  restart: FLAG,
} as const;

const USAGE = `drain NODE [--dry-run] [--yes] [--timeout 1h] [--wait-for-blocked] [--stop-blocked [--restart]]

Says what a drain of the node would do (as explain node), asks if that is not WillSucceed, cordons the node, and evicts its pods
as kubectl drain does until it is empty: virtual machines move to other nodes. Ctrl-C leaves the node cordoned, and what moves goes
on moving; the same command goes on from there.

      --dry-run               ends after the preflight
  -y, --yes                   asks nothing
      --timeout 1h            how long to try (default: until it is done)
      --wait-for-blocked      goes on until what blocks has been changed by those who can; without it the drain ends once all
                              that can leave has left
      --stop-blocked          stops VMs that cannot move: asks first, and names each
      --restart               starts those again, on other nodes, once they have stopped
      --force                 as with kubectl drain: pods without a controller go, too
      --delete-emptydir-data  as with kubectl drain: pods with an emptyDir go, too
      --grace-period SECONDS  as with kubectl drain: how long pods may take to end (default: as each says)
      --ignore-daemonsets     always so
${COMMON_USAGE}

Exit code: 0 the node is empty, 1 it is not within --timeout, or something failed, 3 something blocks, 4 not everything could be
read, and there is no terminal to ask on, 130 interrupted.
`;

/** One drain, as it begins. */
export interface Drain {
  readonly options: ReturnType<typeof readOptions>["options"];
  readonly connection: Connection;
  readonly host: Host;
  readonly screen: Screen;
  readonly facts: PreflightFacts;
  readonly found: Preflight;
  readonly subjects: readonly Subject[];
}

export const drain: Command = {
  words: ["drain"],
  summary: "empty a node: its VMs move, and what blocks is said",
  usage: USAGE,
  flags: FLAGS,
  async run(args, host, opened) {
    const { options, values } = readOptions(args);
    const connection = connectionOf(values, host, opened);
    const facts = await observeNode(options.node, options.flags, { connection, host });
    const found = preflight(facts);
    printPreflight(found, false, host, options.dryRun ? host.stdout : host.stderr);
    if (options.dryRun) return EXIT_OF[found.verdict];
    const screen = createScreen(host.stderr, host.env);
    const begun: Drain = { options, connection, host, screen, facts, found, subjects: subjectsOf(facts) };
    const stops = await chooseStops(begun);
    if (host.interrupted.aborted) return EXIT.interrupted;
    const refusal = isAgreed(begun, stops) ? undefined : await refusalOf(begun);
    return refusal ?? (await begin(begun, stops, ["lifeboat drain", ...args].join(" ")));
  },
};

/** The person has said all there is to say, or there is nothing to ask. */
function isAgreed({ options, found, subjects }: Drain, stops: Stops): boolean {
  if (options.yes || found.verdict === "WillSucceed") return true;
  if (found.verdict !== "WillBlock") return false;
  const isLeft = subjects.some((subject) => isBlocked(subject) && !stops.chosen.has(subject.key));
  // To stop what blocks is no answer to what else the drain would do.
  const isMore = found.pods.some(({ outcome, room }) => outcome === "ShutsDown" || room?.fits === false);
  return options.waitForBlocked || !(isLeft || isMore);
}

/** The exit code, if the node is left as it is. Where there is no terminal to ask on, a drain that ends is begun. */
async function refusalOf({ found: { node, verdict }, host }: Drain): Promise<ExitCode | undefined> {
  const answer = await host.ask(`Drain ${node} all the same? [y/N] `);
  if (host.interrupted.aborted) return EXIT.interrupted;
  if (isYes(answer) || (answer === undefined && EXIT_OF[verdict] === EXIT.done)) return undefined;
  const hint = answer === undefined ? "; --yes drains it all the same" : "";
  host.stderr.write(`nothing has been changed${hint}\n`);
  return answer === undefined ? EXIT_OF[verdict] : EXIT.no;
}

async function begin(drain: Drain, stops: Stops, commandLine: string): Promise<ExitCode> {
  const { host, screen, options } = drain;
  const { node } = options;
  const begun = host.now().getTime();
  const progress = createProgress(drain, stops.chosen);
  await cordon(drain);
  try {
    await stops.begin();
    const { ending, left } = await emptyNode(drain, progress, stops);
    screen.keep();
    const seconds = (host.now().getTime() - begun) / 1000;
    const ended = {
      node,
      ending,
      seconds,
      fates: progress.fates(),
      left,
      startLines: startLinesOf(stops),
      commandLine,
    };
    for (const line of endingLines(ended, paintFor(host.stdout, host))) host.stdout.write(`${line}\n`);
    return EXIT_OF_ENDING[ending];
  } catch (error) {
    screen.print(`node/${node} stays cordoned: ${commandLine} goes on, kubectl uncordon ${node} takes the node back`);
    screen.print(...startLinesOf(stops));
    screen.keep();
    throw error;
  }
}

async function cordon({ connection, screen, facts: { node } }: Drain): Promise<void> {
  const path = object("nodes", { namespace: "", name: node.name });
  if (!node.unschedulable) await patch(connection.send(), path, { spec: { unschedulable: true } }, {});
  screen.print(`node/${node.name} ${node.unschedulable ? "already cordoned" : "cordoned"}`);
}

function readOptions(args: readonly string[]) {
  const { values, positionals } = readCommand(args, FLAGS);
  if (values.restart && !values["stop-blocked"]) throw new UsageError("--restart: only with --stop-blocked");
  const { timeout } = values;
  const options = {
    node: nameIn(positionals, "NODE"),
    flags: { force: values.force, deleteEmptyDirData: values["delete-emptydir-data"] },
    gracePeriodSeconds: graceOf(values["grace-period"]),
    dryRun: values["dry-run"],
    yes: values.yes,
    timeoutSeconds: timeout === undefined ? Number.POSITIVE_INFINITY : secondsOf("--timeout", timeout),
    waitForBlocked: values["wait-for-blocked"],
    stopBlocked: values["stop-blocked"],
    restart: values.restart,
  };
  return { options, values };
}

function graceOf(text: string | undefined): number | undefined {
  if (text === undefined || text === "-1") return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError(`--grace-period: expected seconds, got "${text}"`);
}
