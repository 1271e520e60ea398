/**
 * Runs, one after another, in one arena for as long as nothing goes wrong in it.
 * Owns: when the arena is a new one; what becomes of a run that could not be performed. Does not own: the run itself.
 */
import { type Arena, startArena } from "./arena.ts";
import { performRun } from "./perform-run.ts";
import { drawPlan, type Plan, type PlanOptions } from "./plan.ts";
import { isBad, type RunReport } from "./report.ts";

export interface Runner {
  perform(options: PlanOptions): Promise<RunReport>;
  stop(): Promise<void>;
}

/** What a cluster has been through piles up: events, changes to watch. */
const RUNS_PER_ARENA = 100;

export function createRunner(onLog?: (line: string) => void): Runner {
  let arena: Arena | undefined;
  let runs = 0;

  const renew = async (): Promise<void> => {
    const old = arena;
    arena = undefined;
    runs = 0;
    await old?.stop();
  };

  const attempt = async (plan: Plan): Promise<RunReport> => {
    if (runs >= RUNS_PER_ARENA) await renew();
    arena ??= await startArena(onLog);
    runs += 1;
    try {
      const report = await performRun(arena, plan);
      if (isBad(report)) await renew();
      return report;
    } catch (error) {
      await renew();
      throw error;
    }
  };

  return {
    async perform(options) {
      const begin = performance.now();
      const plan = drawPlan(options);
      try {
        // Setting the scene is no part of the run: if a connection breaks there, it is set once more.
        return await attempt(plan).catch(() => attempt(plan));
      } catch (error) {
        return notPerformed(options.run, Math.round(performance.now() - begin), error);
      }
    },
    stop: renew,
  };
}

/** A run that does not get to its judgement proves nothing: it counts as hung. */
function notPerformed(run: number, ms: number, error: unknown): RunReport {
  const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const nothing = { fates: {}, endings: {}, faults: {}, lost: [], breaches: [], mostUnfinished: 0, vms: 0 };
  return { run, ms, ...nothing, hung: [`not performed: ${why}`] };
}
