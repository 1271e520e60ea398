/** `npm run chaos`: drains nodes under faults, and reports what happened to each VM. */
import { type ChildProcess, fork } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { countOf, HELP, nameOf, notEmpty, readFlags, runTool, TEXT, TEXTS } from "../../tools/console/arguments.ts";
import { aligned } from "../../cli/table.ts";
import { startTimeLine } from "../../tools/console/time-line.ts";
import { IS_REAL } from "../stage/control-plane.ts";
import { FAULT_NAMES, FAULTS } from "./fault-names.ts";
import { FORMS } from "./forms/form.ts";
import type { PlanOptions } from "./plan.ts";
import { isBad, renderBadRun, renderProgress, renderTotals, type RunReport, RunReportSchema } from "./report.ts";

const USAGE = `Usage: npm run chaos [-- --runs N] [--seed S] [--from K] [--vms M] [--only FAULT…] [--form F] [--jobs J]

  --runs N      how many runs (default: 20)
  --seed S      the text from which the random plans are drawn (default: a new text, which is printed)
  --from K      the first run (default: 1); with --runs 1 this repeats one run's plan
  --vms M       VMs on the drained node (default: a random number)
  --only FAULT  only this fault (default: random faults); you can repeat the option
  --form F      how Lifeboat runs: ${FORMS.join(" or ")} (default: random)
  --jobs J      how many processes run at the same time, each with its own cluster (default: 1)
  --help        show this text

Faults:
${aligned(FAULT_NAMES.map((name) => [`  ${name}`, FAULTS[name].says])).join("\n")}
`;

const JOB = fileURLToPath(new URL("job.ts", import.meta.url));
const PROGRESS_EVERY_MS = 15_000;

const TEXT_FLAGS = { runs: TEXT, from: TEXT, vms: TEXT, jobs: TEXT, seed: TEXT, form: TEXT, only: TEXTS };

async function main(args: readonly string[]): Promise<number> {
  const { help, ...flags } = readFlags(args, { ...TEXT_FLAGS, help: HELP });
  if (help) {
    console.log(USAGE);
    return 0;
  }
  const { runs: many = "20", from: first = "1", jobs: most = "1", ...plan } = flags;
  const [runs, from, options] = [countOf("--runs", many), countOf("--from", first), optionsOf(plan)];
  const jobs = Math.min(runs, countOf("--jobs", most));
  const { milliseconds, seconds } = startTimeLine();
  const reports: RunReport[] = [];
  let printedAt = 0;
  console.log(`seed ${options.seed}`);
  const onReport = (report: RunReport): void => {
    reports.push(report);
    if (isBad(report)) console.log(renderBadRun(report, { ...options, run: report.run }));
    if (milliseconds() - printedAt < PROGRESS_EVERY_MS) return;
    printedAt = milliseconds();
    console.log(renderProgress(reports, runs, seconds()));
  };
  const queue = Array.from({ length: runs }, (_, index) => ({ ...options, run: from + index })).values();
  await Promise.all(Array.from({ length: jobs }, () => work(queue, onReport)));
  console.log(renderTotals(reports, seconds()));
  return reports.some(isBad) ? 1 : 0;
}

interface PlanFlags {
  readonly seed?: string;
  readonly vms?: string;
  readonly form?: string;
  readonly only?: readonly string[];
}

function optionsOf({ seed = String(randomInt(2 ** 31)), vms, only, form }: PlanFlags): Omit<PlanOptions, "run"> {
  return {
    seed: notEmpty("--seed", seed, "a text"),
    real: IS_REAL,
    ...(vms !== undefined && { vms: countOf("--vms", vms) }),
    ...(only !== undefined && { only: only.map((name) => nameOf(FAULT_NAMES, name, "--only: there is no fault")) }),
    ...(form !== undefined && { form: nameOf(FORMS, form, "--form: there is no form") }),
  };
}

async function work(queue: Iterable<PlanOptions>, onReport: (report: RunReport) => void): Promise<void> {
  const child = fork(JOB);
  const end = once(child, "exit");
  try {
    for (const order of queue) onReport(await reportOf(child, order));
  } finally {
    if (child.connected) child.disconnect();
    await end;
  }
}

async function reportOf(child: ChildProcess, order: PlanOptions): Promise<RunReport> {
  const over = new AbortController();
  const { signal } = over;
  try {
    const answer = once(child, "message", { signal });
    child.send(order);
    const ended = once(child, "exit", { signal }).then(([code]) => {
      throw new Error(`the process of run ${order.run} has ended (exit code ${String(code)})`);
    });
    const [message] = await Promise.race([answer, ended]);
    return RunReportSchema.parse(message);
  } finally {
    over.abort();
  }
}

await runTool(USAGE, () => main(process.argv.slice(2)));
