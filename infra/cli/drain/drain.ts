/** `lifeboat drain`: empties a node as kubectl drain does, and says what happens. */
import { meaningOf, named } from "../../../shared/kube/client.ts";
import type { Preflight, PreflightFacts } from "../../../shared/preflight/facts.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { type Subject, subjectsOf } from "../../../shared/preflight/progress.ts";
import { Option } from "@commander-js/extra-typings";
import { type Add, EXIT, type ExitCode, secondsOf } from "../command.ts";
import type { Connection } from "../connection.ts";
import { EMPTY_DIR, EXIT_OF, FORCE, observeNode, printPreflight } from "../explain.ts";
import type { Host } from "../host.ts";
import { createReport } from "./report.ts";
import { emptyNode } from "./rounds.ts";

interface Options {
  readonly yes?: true | undefined;
  /** Seconds. */
  readonly timeout: number;
  readonly waitForBlocked?: true | undefined;
}

/** Lines of progress. */
type Say = (...lines: readonly string[]) => void;

/** One drain, as it starts. */
export interface Drain {
  readonly options: Options;
  /** What the person typed. */
  readonly line: string;
  readonly connection: Connection;
  readonly host: Host;
  readonly say: Say;
  readonly facts: PreflightFacts;
  readonly found: Preflight;
  readonly subjects: readonly Subject[];
}

export const drain: Add = (program, { host, line, connect, ends }) => {
  program
    .command("drain")
    .description(
      `Says what a drain of the node would do (as explain node), asks if that is not WillSucceed, cordons the node, and
evicts its pods as kubectl drain does until it is empty: virtual machines move to other nodes. Ctrl-C leaves the node cordoned,
and migrations continue; run the same command again to resume.

Exit code: 0 the node is empty, 1 it is not within --timeout, or something failed, 3 something blocks, 4 not everything could be
read, and there is no terminal to ask on, 130 interrupted.`,
    )
    .argument("<node>")
    .option("--dry-run", "end after the preflight")
    .option("-y, --yes", "ask nothing: also accept that VMs are shut down, and that what blocks stays")
    .addOption(
      new Option("--timeout <time>", "how long to try")
        .argParser(secondsOf)
        .default(Number.POSITIVE_INFINITY, "until it is done"),
    )
    .option("--wait-for-blocked", "continue until what blocks has been changed by those who can")
    .option(...FORCE)
    .option(...EMPTY_DIR)
    .option("--ignore-daemonsets", "always so")
    .action(
      ends(async (node, options) => {
        const connection = connect();
        const flags = { force: options.force === true, deleteEmptyDirData: options.deleteEmptydirData === true };
        const facts = await observeNode(node, flags, { connection, host });
        const found = preflight(facts);
        printPreflight(found, false, host, options.dryRun ? host.stdout : host.stderr);
        if (options.dryRun) return EXIT_OF[found.verdict];
        const say: Say = (...lines) => lines.forEach((one) => void host.stderr.write(`${one}\n`));
        const asked: Drain = { options, line, connection, host, say, facts, found, subjects: subjectsOf(facts) };
        return (await refusalOf(asked)) ?? (await start(asked));
      }),
    );
};

/** Nothing is to be asked. */
function isAgreed({ options, found: { verdict } }: Drain): boolean {
  if (options.yes || verdict === "WillSucceed") return true;
  return options.waitForBlocked === true && verdict === "WillBlock";
}

/** The exit code, if the node is left as it is. Where there is no terminal to ask on, a drain that will succeed starts. */
async function refusalOf(drain: Drain): Promise<ExitCode | undefined> {
  if (isAgreed(drain)) return undefined;
  const { found, host } = drain;
  const answer = await host.ask(`Drain ${found.node} all the same? [y/N] `);
  if (host.interrupted.aborted) return EXIT.interrupted;
  if (answer !== undefined && /^y(es)?$/i.test(answer.trim())) return undefined;
  const code = answer === undefined ? EXIT_OF[found.verdict] : EXIT.no;
  if (code === EXIT.done) return undefined;
  host.stderr.write(`nothing has been changed${answer === undefined ? "; --yes drains it all the same" : ""}\n`);
  return code;
}

async function start(drain: Drain): Promise<ExitCode> {
  const { say, line, found } = drain;
  const report = createReport(drain);
  await cordon(drain);
  try {
    const { ending, left } = await emptyNode(drain, report);
    return report.end(ending, left);
  } catch (error) {
    say(`node/${found.node} stays cordoned: ${line} continues, kubectl uncordon ${found.node} takes the node back`);
    throw error;
  }
}

async function cordon({ connection, say, facts: { node } }: Drain): Promise<void> {
  if (!node.unschedulable) {
    const cordoned = { spec: { unschedulable: true } };
    meaningOf(await connection.cluster().patch("nodes", named(node.name), cordoned), {});
  }
  say(`node/${node.name} ${node.unschedulable ? "already cordoned" : "cordoned"}`);
}
