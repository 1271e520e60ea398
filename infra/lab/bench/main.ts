/** `npm run bench`: measures Lifeboat and a baseline in the same run, and prints one table. */
import { nameOf, readArguments, FLAG, HELP, runTool } from "../../tools/console/arguments.ts";
import { startTimeLine } from "../../tools/console/time-line.ts";
import { type Measurement, renderMeasurements } from "./measurement.ts";
import { runDrain } from "./parts/drain.ts";
import { runEvictions } from "./parts/evictions.ts";
import { runMemory } from "./parts/memory.ts";
import { runPlan } from "./parts/plan.ts";

const USAGE = `Usage: npm run bench [-- [PART…] [--quick]]

Parts (without a PART, all parts run):
  evictions  evictions through the API server, simulated or real; the baseline is virt-api alone
  drain      a whole drain with Lifeboat as a Worker and in the cluster; the baseline is KubeVirt alone
  memory     the start time, memory and idle load of a replica in a cluster with ten thousand VMs
  plan       lifeboat plan in a cluster with 40 nodes, 1,000 VMs and 10,000 pods

Options:
  --quick    smaller sizes and fewer repetitions
  --help     show this text
`;

export interface PartOptions {
  readonly quick: boolean;
  readonly note: (line: string) => void;
}

const PARTS = ["evictions", "drain", "memory", "plan"] as const;
const RUN: Readonly<Record<(typeof PARTS)[number], (options: PartOptions) => Promise<readonly Measurement[]>>> = {
  evictions: runEvictions,
  drain: runDrain,
  memory: runMemory,
  plan: runPlan,
};

await runTool(USAGE, async () => {
  const { values, positionals } = readArguments(process.argv.slice(2), { quick: FLAG, help: HELP });
  if (values.help) return console.log(USAGE);
  const named = positionals.map((name) => nameOf(PARTS, name, "unknown part"));
  const timeLine = startTimeLine();
  const measurements: Measurement[] = [];
  for (const part of PARTS.filter((one) => named.length === 0 || named.includes(one))) {
    const note = (line: string) => console.error(`${timeLine.stamp()}${part}: ${line}`);
    measurements.push(...(await RUN[part]({ quick: values.quick, note })));
  }
  console.log(renderMeasurements(measurements));
});
