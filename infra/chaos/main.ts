/**
 * `npm run chaos`: drains under faults, and what became of the VMs.
 * Owns: the output and the exit code: 1 if a VM was lost, a limit broken, or something hung. Does not own: the runs.
 */
import { randomInt } from "node:crypto";
import { type Arguments, parseArguments, USAGE, UsageError } from "./command-line.ts";
import { performAll } from "./jobs.ts";
import { drawPlan, type PlanOptions } from "./plan.ts";
import { isBad, type RunReport, totalsOf } from "./report.ts";
import { renderBadRun, renderProgress, renderTotals } from "./table.ts";

const PROGRESS_EVERY_MS = 15_000;

/** Whether all is well. */
async function main({ runs, from, jobs, seed, vms, only, verbose }: Arguments): Promise<boolean> {
  const begin = performance.now();
  const seconds = () => Math.round((performance.now() - begin) / 1000);
  const optionsOf = (run: number): PlanOptions => ({
    seed,
    run,
    ...(vms !== undefined && { vms }),
    ...(only !== undefined && { only }),
  });
  const reports: RunReport[] = [];
  console.log(`seed ${seed}`);
  let told = begin;
  const onReport = (report: RunReport): void => {
    reports.push(report);
    if (isBad(report)) console.log(renderBadRun(report, drawPlan(optionsOf(report.run))));
    if (performance.now() - told < PROGRESS_EVERY_MS) return;
    told = performance.now();
    console.log(renderProgress(totalsOf(reports), runs, seconds()));
  };
  const orders = Array.from({ length: runs }, (_, i) => optionsOf(from + i));
  await performAll(orders, { jobs: Math.min(jobs, runs), verbose, onReport });
  console.log(renderTotals(totalsOf(reports), seconds()));
  return !reports.some(isBad);
}

try {
  const parsed = parseArguments(process.argv.slice(2), () => String(randomInt(2 ** 31)));
  if (parsed.help) console.log(USAGE);
  else if (!(await main(parsed))) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
