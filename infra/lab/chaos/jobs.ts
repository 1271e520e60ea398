/** Runs shared out among processes, each with a cluster of its own: a process that is done gets the next one. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { PlanOptions } from "./plan.ts";
import { type RunReport, RunReportSchema } from "./report.ts";

export interface JobsOptions {
  readonly jobs: number;
  readonly verbose: boolean;
  readonly onReport: (report: RunReport) => void;
}

const JOB = fileURLToPath(new URL("job.ts", import.meta.url));

export async function performAll(runs: Iterable<PlanOptions>, options: JobsOptions): Promise<void> {
  const queue = runs[Symbol.iterator]();
  const work = async (): Promise<void> => {
    const child = fork(JOB, options.verbose ? ["--verbose"] : []);
    const end = once(child, "exit");
    try {
      for (let next = queue.next(); next.done !== true; next = queue.next())
        options.onReport(await reportOf(child, next.value));
    } finally {
      if (child.connected) child.disconnect();
      await end;
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, work));
}

async function reportOf(child: ChildProcess, order: PlanOptions): Promise<RunReport> {
  const over = new AbortController();
  const { signal } = over;
  try {
    const answer = once(child, "message", { signal });
    child.send(order);
    const ended = once(child, "exit", { signal }).then(([code]) => {
      throw new Error(`the process of run ${order.run} has ended with ${String(code)}`);
    });
    const [message] = await Promise.race([answer, ended]);
    return RunReportSchema.parse(message);
  } finally {
    over.abort();
  }
}
