/** `lifeboat drain`: drains nodes with a NodeEvacuation or a RollingMaintenance, and follows the drain. */
import { Option } from "@commander-js/extra-typings";
import { type NewObject, meaningOf } from "../../../shared/kube/client.ts";
import { hasEnded, type NodeEvacuationFacts, VM_ORDERS, WHEN_BLOCKED } from "../../../shared/kube/node-evacuation.ts";
import { newNodeEvacuation } from "../../../shared/maintenance/api.ts";
import type { Preflight } from "../../../shared/preflight/facts.ts";
import { SCHEMAS } from "../../../shared/kube/resources.ts";
import { mayStart } from "../../../shared/maintenance/forecast.ts";
import { MAINTENANCE_MESSAGES } from "../../../shared/maintenance/messages.ts";
import { readForecast } from "../../../shared/maintenance/read.ts";
import { Failed, UsageError } from "../failed.ts";
import { type Add, agree, EXIT, type ExitCode, KIND, namesOf, output, secondsOf, type With, YES } from "../command.ts";
import type { Connection } from "../connection.ts";
import { EMPTY_DIR, nodeNotFound, nodesOf, printPreflight, SELECTOR, worstExit } from "../preflight.ts";
import { timeLines, timeOf, type Times, TIMES, timesOfOptions } from "../time.ts";
import { jsonOf, timeoutFor } from "../plan/data.ts";
import { exitOf, rehearse } from "../plan/plan.ts";
import { PLAN_TABLE_MESSAGES } from "../plan/messages.ts";
import { printPlan } from "../plan/table.ts";
import { printAs } from "../print.ts";
import { CLI_MESSAGES } from "../messages.ts";
import { follow } from "./follow.ts";
import { DRAIN_MESSAGES as MESSAGES } from "./messages.ts";
import { countOf, type Options, rollingSpec, specOf, START_IF, unlikeIn } from "./options.ts";
import { createSeveral, followSeveral, joinedOf } from "./several.ts";

export const drain: Add = (program, { host, connect, ends }) => {
  program
    .command("drain")
    .description(
      `Predicts the drain of each node like lifeboat explain node, asks before the change, creates a NodeEvacuation, and
follows the drain. Lifeboat cordons the node, moves its virtual machines, and evicts its other pods as kubectl drain
does. With --start-if, Lifeboat checks the prediction again at the start. For several nodes, the command creates one
RollingMaintenance: the drain of a node starts when the previous node is drained and uncordoned.
Ctrl-C ends only the command: the drain continues. The same command follows it again. lifeboat status shows the drain,
and lifeboat pause, resume and cancel change it.

Exit code: 0 every node is drained, or the drain starts later (--at), 1 the drain takes longer than --timeout or a request failed, 3 something blocks or
a drain failed, 130 interrupted. With --dry-run: the exit code of explain node, and 3 if --start-if refuses the drain.`,
    )
    .argument("[nodes...]", "or --selector", namesOf("node", KIND.node), [])
    .option(...SELECTOR)
    .option("--dry-run", "only predict the drain (several nodes: as lifeboat plan does)")
    .option(...YES)
    .addOption(new Option("--at <time>", `when the drain starts: ${TIMES}`).argParser(timeOf))
    .addOption(
      new Option(
        "--until <time>",
        "when to give up the drain and uncordon the node (several nodes: the time after which no drain starts)",
      ).argParser(timeOf),
    )
    .addOption(new Option("--order <order>", "which VMs leave first").choices(VM_ORDERS))
    .addOption(new Option("--when-blocked <what>", "what to do with a VM that cannot move").choices(WHEN_BLOCKED))
    .addOption(new Option("--start-if <verdict>", "start only with this verdict or a better verdict").choices(START_IF))
    .option(
      "--force-shutdowns",
      "restart and shut down VMs even while other VMs or pods block the drain (-y alone does not do this)",
    )
    .addOption(
      new Option("--max-unavailable <n>", "with several nodes: how many to drain at a time").argParser(countOf),
    )
    .addOption(
      new Option("--next-node <when>", "with several nodes: when the drain of the next node starts").choices([
        "WhenUncordoned",
        "WhenEvacuated",
      ]),
    )
    .addOption(
      new Option("--when-node-fails <what>", "with several nodes: what to do with the other nodes").choices([
        "Stop",
        "Continue",
      ]),
    )
    .addOption(
      new Option(
        "--node-timeout <time>",
        "with several nodes: how long each drain may take (default: 1h, or twice the prediction if that is longer)",
      ).argParser(secondsOf),
    )
    .option("--return", "move the VMs back when the node is uncordoned")
    .option(...EMPTY_DIR)
    .option("--reason <text>", "a note for people, which kubectl get nodeevacuations -o yaml shows")
    .addOption(
      new Option("--timeout <time>", "how long to follow the drain, which continues after that")
        .argParser(secondsOf)
        .default(Number.POSITIVE_INFINITY, "until it ends"),
    )
    .option("--wait-for-blocked", "keep following a blocked drain, which continues only after a person acts")
    .addOption(output("the format of the report at the end; wide: every VM"))
    .action(
      ends(async (named, options) => {
        if (named.length === 0 && options.selector === undefined) throw new UsageError(CLI_MESSAGES.expectedNodes);
        const times = timesOfOptions(options, host.now());
        const spec = specOf(options, times);
        const connection = connect();
        const nodes = await nodesOf(named, options.selector, connection);
        const asked = { nodes, spec, times, options };
        if (options.dryRun && nodes.length > 1) return await rehearseSeveral(asked, { connection, host });
        return await drainNodes(asked, { connection, host });
      }),
    );
};

interface Asked {
  readonly nodes: readonly string[];
  readonly spec: ReturnType<typeof specOf>;
  readonly times: Times;
  readonly options: Options & { readonly timeout: number };
}

async function drainNodes({ nodes, spec, times, options }: Asked, { connection, host }: With): Promise<ExitCode> {
  const all = await connection.cluster().list("nodeevacuations");
  const plans = plansOf(nodes, spec, host.now(), all);
  const several = await severalOf(plans, options, { connection, host });
  const wanted = wantedOf(plans, options, several !== undefined);
  const found = await forecastOf(wanted, options, all, { connection, host });
  if (options.dryRun) return found.some(({ isRefused }) => isRefused) ? EXIT.no : worstExit(found);
  for (const line of timeLines(times, host.now(), nodes.length)) host.stderr.write(`${line}\n`);
  const isAtWork = nodes.length === 1 ? plans.every(({ known }) => known !== undefined) : several !== undefined;
  if (!isAtWork) await agree(questionOf(nodes, found), options, { connection, host });
  const following = { connection, host, ...options };
  if (nodes.length === 1) return await follow(await ask(plans, { connection, host }), following);
  const rm = several ?? (await createSeveral(nodes, rollingSpec(spec, withTimeout(options, found)), following));
  return await followSeveral(rm, following);
}

/** Finds the active RollingMaintenance of exactly the requested nodes. Returns undefined for a single node. */
async function severalOf([first, ...others]: readonly Plan[], options: Options, { connection, host }: With) {
  if (first === undefined || others.length === 0) return undefined;
  const nodes = [first, ...others].map(({ node }) => node);
  return await joinedOf(nodes, factsOf(first.manifest).spec, { connection, host, options });
}

/** Derives the time limit of each node from the prediction for the slowest node, unless the person has set a limit. */
function withTimeout(options: Options, found: readonly Preflight[]): Options {
  const slowest = Math.max(0, ...found.map(({ time }) => time?.seconds.most ?? 0));
  return { ...options, nodeTimeout: options.nodeTimeout ?? timeoutFor(slowest) };
}

interface Plan {
  readonly node: string;
  readonly known: NodeEvacuationFacts | undefined;
  readonly manifest: NewObject;
}

function plansOf(
  nodes: readonly string[],
  spec: ReturnType<typeof specOf>,
  now: Date,
  all: readonly NodeEvacuationFacts[],
): readonly Plan[] {
  return nodes.map((node) => {
    const known = all.find((one) => one.spec.nodeName === node && !hasEnded(one));
    return { node, known, manifest: newNodeEvacuation(node, now, spec).manifest };
  });
}

async function rehearseSeveral({ nodes, spec, times, options }: Asked, w: With): Promise<ExitCode> {
  const now = w.host.now();
  const { spec: template } = factsOf(newNodeEvacuation(nodes[0] ?? "", now, spec).manifest);
  const { notBefore: at = now, notAfter: until } = times;
  const asked = { nodes, order: "given", parallel: options.maxUnavailable ?? 1, template, at, until } as const;
  const found = await rehearse(asked, w);
  printAs(options.output, { data: jsonOf(found), table: (isWide) => printPlan(found, isWide, w.host) }, w.host);
  return exitOf(found);
}

function wantedOf(plans: readonly Plan[], options: Options, isJoined: boolean): readonly Plan[] {
  if (options.dryRun || (plans.length > 1 && !isJoined)) return plans;
  return isJoined ? [] : plans.filter((plan) => isNew(plan, options));
}

/** Returns whether a new NodeEvacuation is needed. Throws if the active NodeEvacuation differs from the request. */
function isNew({ node, known, manifest }: Plan, options: Options): boolean {
  if (known === undefined) return true;
  const unlike = unlikeIn(known.spec, factsOf(manifest).spec, options);
  if (unlike.length === 0) return false;
  throw new Failed(MESSAGES.otherOptions(known.name, node, unlike));
}

function factsOf(manifest: NewObject): NodeEvacuationFacts {
  const metadata = { ...manifest.metadata, uid: "", resourceVersion: "", creationTimestamp: "1970-01-01T00:00:00Z" };
  return SCHEMAS.nodeevacuations.facts.parse({ ...manifest, metadata });
}

interface Forecast extends Preflight {
  /** True if the NodeEvacuation would not start. False if the verdict is unknown. */
  readonly isRefused: boolean;
}

async function forecastOf(
  plans: readonly Plan[],
  options: Options,
  all: readonly NodeEvacuationFacts[],
  { connection, host }: With,
) {
  const found: Forecast[] = [];
  for (const { node, known, manifest } of plans) {
    const observer = { cluster: connection.cluster(), settings: await connection.settings(), now: host.now() };
    const asked = known ?? factsOf(manifest);
    const one = await readForecast(asked, all, observer);
    if (one === undefined) throw await nodeNotFound(node, connection);
    const out = options.dryRun ? host.stdout : host.stderr;
    printPreflight(one, false, host, out);
    const isRefused = known === undefined && one.verdict !== "Unknown" && !mayStart(asked.spec.startIf, one.verdict);
    if (isRefused) {
      const refusal = MAINTENANCE_MESSAGES.refused(asked.spec.startIf, one.verdict, one.summary);
      out.write(`\n× ${PLAN_TABLE_MESSAGES.doesNotStart(node, refusal)}\n`);
    }
    found.push({ ...one, isRefused });
  }
  return found;
}

function questionOf(nodes: readonly string[], found: readonly Preflight[]): string {
  const isAnyway = found.some(({ verdict }) => verdict !== "WillSucceed");
  return MESSAGES.question(nodes, isAnyway);
}

async function ask(plans: readonly Plan[], { connection, host }: With): Promise<readonly NodeEvacuationFacts[]> {
  const asked: NodeEvacuationFacts[] = [];
  for (const { known, manifest } of plans) {
    const one = known ?? (await created(manifest, connection));
    host.stderr.write(`${MESSAGES.nodeEvacuation(one.name, known === undefined)}\n`);
    asked.push(one);
  }
  return asked;
}

async function created(manifest: NewObject, connection: Connection): Promise<NodeEvacuationFacts> {
  const answer = await connection.cluster().create("nodeevacuations", manifest);
  meaningOf(answer, {});
  return answer.facts();
}
