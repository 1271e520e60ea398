/** `npm run bench`: measures, prints one table, writes it down, compares it with an earlier run. */
import { runTool } from "../../tools/console/arguments.ts";
import { startTimeLine } from "../../tools/console/time-line.ts";
import { parseArguments, type Arguments, USAGE } from "./command-line.ts";
import type { Measurement, Part } from "./measurement.ts";
import type { RunPart } from "./part.ts";
import { runAdmission } from "./parts/admission.ts";
import { runDescheduling } from "./parts/descheduling.ts";
import { runDrain } from "./parts/drain.ts";
import { runEvictions } from "./parts/evictions.ts";
import { runFleets } from "./parts/fleet.ts";
import { runInCluster } from "./parts/in-cluster.ts";
import { runPage } from "./parts/page.ts";
import { runReconcile } from "./parts/reconcile.ts";
import { runSandbox } from "./parts/sandbox.ts";
import { runStartup } from "./parts/startup.ts";
import { describeMachine, readResults, type Results, writeResults } from "./results.ts";
import { renderChanges, renderMeasurements } from "./table.ts";

const RUN: Readonly<Record<Part, RunPart>> = {
  sandbox: runSandbox,
  admission: runAdmission,
  evictions: runEvictions,
  startup: runStartup,
  reconcile: runReconcile,
  descheduling: runDescheduling,
  page: runPage,
  drain: runDrain,
  fleet: runFleets,
  "in-cluster": runInCluster,
};

async function main({ parts, quick, out, against }: Arguments): Promise<void> {
  // Before anything is measured: an unreadable file must not cost a run.
  const before = against === undefined ? undefined : await readResults(against);
  const machine = describeMachine();
  const timeLine = startTimeLine();
  const measurements: Measurement[] = [];
  for (const part of parts) {
    const note = (line: string) => console.error(`${timeLine.stamp()}${part}: ${line}`);
    measurements.push(...(await RUN[part]({ quick, note })));
  }
  const [date, seconds] = [new Date().toISOString(), timeLine.seconds()];
  const results: Results = { version: 1, date, quick, seconds, machine, measurements };
  await writeResults(out, results);
  console.log(`${renderMeasurements(measurements)}\n\n${summaryOf(results)}\nWritten to ${out}`);
  if (before !== undefined) {
    console.log(`\nAgainst ${against}: ${summaryOf(before)}\n${renderChanges(before.measurements, measurements)}`);
  }
}

function summaryOf({ date, quick, seconds, machine }: Results): string {
  const { node, cpu, cores, memoryGiB, loadBefore } = machine;
  const size = quick ? "quick" : "full";
  return `${date}, ${size}, ${seconds} s, Node ${node}, ${cores} × ${cpu}, ${memoryGiB} GiB, load before: ${loadBefore}`;
}

await runTool(USAGE, async () => {
  const parsed = parseArguments(process.argv.slice(2));
  if (parsed.help) console.log(USAGE);
  else await main(parsed);
});
