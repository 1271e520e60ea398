/** `npm run chaos`: drains under faults, and what became of the VMs. */
import { randomInt } from "node:crypto";
import { runTool } from "../../tools/console/arguments.ts";
import { startTimeLine } from "../../tools/console/time-line.ts";
import { IS_REAL } from "../stage/control-plane.ts";
import { type Arguments, parseArguments, USAGE } from "./command-line.ts";
import { performAll } from "./jobs.ts";
import { drawPlan, type PlanOptions } from "./plan.ts";
import { isBad, type RunReport, totalsOf } from "./report.ts";
import { renderBadRun, renderProgress, renderTotals } from "./table.ts";

const PROGRESS_EVERY_MS = 15_000;

/** Whether all is well. */
async function main({ runs, from, jobs, seed, vms, only, form, verbose }: Arguments): Promise<boolean> {
  const { milliseconds, seconds } = startTimeLine();
  const optionsOf = (run: number): PlanOptions => ({
    seed,
    run,
    ...(IS_REAL && { real: true }),
    ...(vms !== undefined && { vms }),
    ...(only !== undefined && { only }),
    ...(form !== undefined && { form }),
  });
  const reports: RunReport[] = [];
  console.log(`seed ${seed}`);
  let told = 0;
  const onReport = (report: RunReport): void => {
    reports.push(report);
    if (isBad(report)) console.log(renderBadRun(report, drawPlan(optionsOf(report.run))));
    if (milliseconds() - told < PROGRESS_EVERY_MS) return;
    told = milliseconds();
    console.log(renderProgress(totalsOf(reports), runs, seconds()));
  };
  const orders = Array.from({ length: runs }, (_, i) => optionsOf(from + i));
  await performAll(orders, { jobs: Math.min(jobs, runs), verbose, onReport });
  console.log(renderTotals(totalsOf(reports), seconds()));
  return !reports.some(isBad);
}

await runTool(USAGE, async () => {
  const parsed = parseArguments(process.argv.slice(2), () => String(randomInt(2 ** 31)));
  if (parsed.help) return console.log(USAGE);
  return (await main(parsed)) ? 0 : 1;
});
