/** `lifeboat drain`: empties a node as kubectl drain does, and says what happens. */
import { object } from "../../../shared/cluster/paths.ts";
import { patch } from "../../../shared/cluster/write.ts";
import type { PreflightFacts } from "../../../shared/policy/preflight/facts.ts";
import { preflight } from "../../../shared/policy/preflight/preflight.ts";
import type { Preflight } from "../../../shared/policy/preflight/result.ts";
import type { NamespacedName } from "../../../shared/policy/facts.ts";
import { createScreen, type Screen } from "../../tools/console/screen.ts";
import { type Command, connectionOf } from "../command.ts";
import type { Connection } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { EXIT_OF, observeNode } from "../explain-node.ts";
import type { Host } from "../host.ts";
import { printPreflight } from "../print-preflight.ts";
import { paintFor } from "../print.ts";
import { createBlockers } from "./blocked.ts";
import { type Emptying, emptyNode } from "./empty-node.ts";
import { endingLines, EXIT_OF_ENDING, startLinesOf } from "./ending.ts";
import { createEvictions } from "./evictions.ts";
import { type DrainOptions, FLAGS, readOptions, USAGE } from "./options.ts";
import { createProgress, type Progress } from "./progress.ts";
import { refusalOf } from "./question.ts";
import { chooseStops, NO_STOPS, type Stops } from "./stops.ts";
import { createLook } from "./look.ts";
import { isBlocked, type Subject, subjectsOf } from "../../../shared/policy/progress/subjects.ts";

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
    const run: Run = { options, connection, host, screen, facts, found, subjects: subjectsOf(facts) };
    const stops = await stopsOf(run);
    if (host.interrupted.aborted) return EXIT.interrupted;
    const refusal = isAgreed(run, stops) ? undefined : await refusalOf(found, host);
    if (refusal !== undefined) return refusal;
    return await begin(run, { stops, commandLine: ["lifeboat drain", ...args].join(" ") });
  },
};

interface Run {
  readonly options: DrainOptions;
  readonly connection: Connection;
  readonly host: Host;
  readonly screen: Screen;
  readonly facts: PreflightFacts;
  readonly found: Preflight;
  readonly subjects: readonly Subject[];
}

async function stopsOf({ options, connection, host, screen, subjects }: Run): Promise<Stops> {
  const { stopBlocked, yes, restart } = options;
  if (!stopBlocked) return NO_STOPS;
  return await chooseStops(subjects, { connection, host, yes, restart, say: screen.print });
}

/** The person has said all there is to say, or there is nothing to ask. */
function isAgreed({ options, found, subjects }: Run, stops: Stops): boolean {
  if (options.yes || found.verdict === "Drains") return true;
  if (found.verdict !== "Blocks") return false;
  const isLeft = subjects.some((subject) => isBlocked(subject) && !stops.chosen.has(subject.key));
  // To stop what blocks is no answer to what else the drain would do.
  const isMore = found.pods.some(({ outcome, room }) => outcome === "ShutsDown" || room?.fits === false);
  return options.waitForBlocked || !(isLeft || isMore);
}

interface Beginning {
  readonly stops: Stops;
  readonly commandLine: string;
}

async function begin(run: Run, { stops, commandLine }: Beginning): Promise<ExitCode> {
  const { connection, host, screen, found, subjects, options } = run;
  const { node } = options;
  const begun = host.now().getTime();
  const getVmi = (key: NamespacedName) => connection.cluster().getVmi(key);
  const progress = createProgress({ node, host, screen, expected: found.time, getVmi, stopping: stops.chosen });
  await cordon(run);
  try {
    await stops.begin();
    const { ending, left } = await emptyNode(emptyingOf(run, { stops, progress, begun }), subjects);
    screen.keep();
    const seconds = (host.now().getTime() - begun) / 1000;
    const ended = { node, ending, seconds, progress, left, startLines: startLinesOf(stops), commandLine };
    for (const line of endingLines(ended, paintFor(host.stdout, host))) host.stdout.write(`${line}\n`);
    return EXIT_OF_ENDING[ending];
  } catch (error) {
    screen.print(`node/${node} stays cordoned: ${commandLine} goes on, kubectl uncordon ${node} takes the node back`);
    screen.print(...startLinesOf(stops));
    screen.keep();
    throw error;
  }
}

interface Begun {
  readonly stops: Stops;
  readonly progress: Progress;
  readonly begun: number;
}

function emptyingOf({ options, connection, host, screen, facts, subjects }: Run, { begun, ...parts }: Begun): Emptying {
  return {
    ...parts,
    connection,
    host,
    screen,
    look: createLook(facts, { connection, host }),
    evictions: createEvictions(connection, options.gracePeriodSeconds),
    blockers: createBlockers(subjects),
    waitForBlocked: options.waitForBlocked,
    deadline: begun + options.timeoutSeconds * 1000,
  };
}

async function cordon({ connection, screen, facts: { node } }: Run): Promise<void> {
  const path = object("nodes", { namespace: "", name: node.name });
  if (!node.unschedulable) await patch(connection.send(), path, { spec: { unschedulable: true } }, {});
  screen.print(`node/${node.name} ${node.unschedulable ? "already cordoned" : "cordoned"}`);
}
