/** `lifeboat plan`: predicts a rolling maintenance, and shows the result for each node. */
import { setFlagsFromString } from "node:v8";
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { WHEN_BLOCKED, type WhenBlocked } from "../../../shared/kube/node-evacuation.ts";
import { quantity } from "../../../shared/kube/schemas/fields.ts";
import { ORDERS, type PlanOptions } from "../../../shared/plan/facts.ts";
import { observePlan } from "../../../shared/plan/read.ts";
import { type Plan, planOf } from "../../../shared/plan/plan.ts";
import { type Add, EXIT, type ExitCode, KIND, namesOf, output, type With } from "../command.ts";
import { START_IF } from "../drain/options.ts";
import { CLI_MESSAGES } from "../messages.ts";
import { EMPTY_DIR, EXIT_OF, nodeNotFound, nodesOf, SELECTOR } from "../preflight.ts";
import { printData } from "../print.ts";
import { type At, timeOf, TIMES, timesOfOptions } from "../time.ts";
import { jsonOf, rollingMaintenanceOf } from "./data.ts";
import { PLAN_TABLE_MESSAGES as MESSAGES } from "./messages.ts";
import { printPlan } from "./table.ts";

interface Options {
  readonly at?: At | undefined;
  readonly until?: At | undefined;
  readonly order: (typeof ORDERS)[number];
  readonly parallel: number;
  readonly bandwidth?: number | undefined;
  readonly whenBlocked: WhenBlocked;
  readonly startIf: (typeof START_IF)[number];
  readonly forceShutdowns?: true | undefined;
  readonly deleteEmptydirData?: true | undefined;
}

export const plan: Add = (program, { host, connect, ends }) => {
  program
    .command("plan")
    .description(
      `Rehearses a rolling maintenance: predicts each drain after the earlier drains, and assumes that each drained node comes back empty.
Prints which nodes cannot be drained and why, which VMs cannot move, and what could not be judged. The command changes
nothing, and also works without Lifeboat in the cluster.

Exit code: 0 every node can be drained, 3 a node will block, has no room, or is refused, 4 not everything could be judged, 1 the command failed.`,
    )
    .argument("[nodes...]", "names of nodes; all nodes if none is named", namesOf("node", KIND.node), [])
    .option(...SELECTOR)
    .addOption(new Option("--at <time>", `when the maintenance starts: ${TIMES}`).argParser(timeOf))
    .addOption(new Option("--until <time>", "when the maintenance has to end (a time as for --at)").argParser(timeOf))
    .addOption(
      new Option("--order <order>", "the order of the nodes: as given, or planned")
        .choices(ORDERS)
        .default("given" as const),
    )
    .addOption(
      new Option("--parallel <number>", "how many nodes to drain at the same time").argParser(countOf).default(1),
    )
    .addOption(
      new Option(
        "--bandwidth <amount>",
        "the bandwidth of each migration, if no migration has been measured: 1Gi is 1 GiB a second",
      ).argParser(bytesOf),
    )
    .addOption(
      new Option("--when-blocked <what>", "what to do with a VM that cannot move")
        .choices(WHEN_BLOCKED)
        .default("Wait" as const),
    )
    .addOption(
      new Option("--start-if <verdict>", "drain only nodes with this verdict or a better verdict")
        .choices(START_IF)
        .default("Always" as const),
    )
    .option("--force-shutdowns", "shut guests down even while something else blocks their node")
    .option(...EMPTY_DIR)
    .addOption(output("wide: every VM; yaml: a RollingMaintenance to apply"))
    .action(
      ends(async (named, { output: form, selector, ...options }) => {
        const planned = optionsOf(options, host.now());
        const connection = connect();
        const nodes = await nodesOf(named, selector, connection);
        const asked = { ...planned, nodes };
        const made = await rehearse(asked, { connection, host });
        if (form === "json") printData(jsonOf(made), "json", host);
        else if (form === "yaml") printData(rollingMaintenanceOf(made, asked, options.at !== undefined), "yaml", host);
        else printPlan(made, form === "wide", host);
        return exitOf(made);
      }),
    );
};

export function exitOf({ verdict, nodes }: Plan): ExitCode {
  return nodes.some(({ refusal }) => refusal !== undefined) ? EXIT.no : EXIT_OF[verdict];
}

const MOST_AT_A_TIME = 100;

function countOf(text: string): number {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= MOST_AT_A_TIME) return count;
  throw new InvalidArgumentError(CLI_MESSAGES.expectedCount(MOST_AT_A_TIME));
}

function bytesOf(text: string): number {
  const bytes = /^[\d.]+[kKMGi]*$/.test(text) ? quantity(text) : 0;
  if (bytes > 0 && Number.isFinite(bytes)) return bytes;
  throw new InvalidArgumentError(MESSAGES.expectedBandwidth);
}

/** Reads the cluster, and plans the maintenance. Prints the progress on stderr. */
export async function rehearse(options: PlanOptions, { connection, host }: With) {
  const observer = { cluster: connection.cluster(), settings: await connection.settings(), now: host.now() };
  const facts = await observePlan(observer, (what) => host.stderr.write(`${MESSAGES.reading(what)}\n`));
  host.stderr.write(`${MESSAGES.rehearsing(options.nodes.length)}\n`);
  // Limits V8's space for new objects. A larger space uses more memory, and does not make the prediction faster.
  setFlagsFromString("--semi-space-growth-factor=1");
  const made = planOf(facts, options);
  const [missing] = made.missing;
  if (missing !== undefined) throw await nodeNotFound(missing, connection);
  return made;
}

function optionsOf(given: Options, now: Date): Omit<PlanOptions, "nodes"> {
  const { notBefore: at = now, notAfter: until } = timesOfOptions(given, now);
  const { order, parallel, bandwidth, whenBlocked, startIf } = given;
  return {
    order,
    parallel,
    at,
    until,
    bandwidth,
    template: {
      startIf,
      virtualMachines: { order: "ByPriority", whenBlocked, whenAttemptsFail: "Wait", ownersChoice: "Respected" },
      forceShutdowns: given.forceShutdowns === true,
      otherPods: given.deleteEmptydirData === true ? "EvictWithLocalData" : "Evict",
    },
  };
}
