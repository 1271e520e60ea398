/** Runs, one after another, in one arena for each form of Lifeboat, for as long as nothing goes wrong in it. */
import { isReal } from "../../sandbox/sandbox.ts";
import { type Arena, startArena } from "./arena.ts";
import { type FormName, FORMS } from "./form.ts";
import { performRun, prepareRun, type Prepared } from "./perform-run.ts";
import { drawPlan, type Plan, type PlanOptions } from "./plan.ts";
import { isBad, type RunReport } from "./report.ts";
import { clearScene } from "./scene.ts";

export interface Runner {
  perform(options: PlanOptions): Promise<RunReport>;
  stop(): Promise<void>;
}

/** What a cluster has been through piles up: events, changes to watch. */
const RUNS_PER_ARENA = 100;

interface Ready {
  readonly arena: Arena;
  readonly prepared: Prepared;
}

export function createRunner(onLog?: (line: string) => void): Runner {
  const current = new Map<FormName, { readonly arena: Arena; runs: number }>();

  const renew = async (form: FormName): Promise<void> => {
    const old = current.get(form);
    current.delete(form);
    await old?.arena.stop();
  };

  const prepare = async (plan: Plan): Promise<Ready> => {
    const { form } = plan;
    if ((current.get(form)?.runs ?? 0) >= RUNS_PER_ARENA) await renew(form);
    const used = current.get(form) ?? { arena: await startArena(form, onLog), runs: 0 };
    current.set(form, used);
    used.runs += 1;
    const { arena } = used;
    try {
      return { arena, prepared: await prepareRun(arena, plan) };
    } catch (error) {
      await renew(form);
      throw error;
    }
  };

  /** What has been judged stays judged: a scene that cannot be cleared away costs the arena. */
  const clear = async ({ arena, prepared }: Ready, report: RunReport, form: FormName): Promise<void> => {
    if (isBad(report)) {
      await keepLogs(arena, report);
      return await renew(form);
    }
    await clearScene(arena, prepared.scene).catch(() => renew(form));
  };

  return {
    async perform(options) {
      const begin = performance.now();
      const plan = drawPlan(options);
      try {
        // Setting the scene is no part of the run: if a connection breaks there, it is set once more.
        const ready = await prepare(plan).catch(() => prepare(plan));
        const report = await performRun(ready.arena, plan, ready.prepared);
        await clear(ready, report, plan.form);
        return report;
      } catch (error) {
        await renew(plan.form);
        return notPerformed(plan, Math.round(performance.now() - begin), error);
      }
    },
    stop: async () => void (await Promise.all(FORMS.map(renew))),
  };
}

/** What a real control plane has logged, for the person who looks into a run that failed. */
async function keepLogs({ sandbox }: Arena, { run }: RunReport): Promise<void> {
  if (isReal(sandbox))
    console.log(`the control plane's logs of run ${run} are in ${await sandbox.programs.keepLogs()}`);
}

/** A run that does not get to its judgement proves nothing: it counts as hung. */
function notPerformed({ run, form, faults: drawn }: Plan, ms: number, error: unknown): RunReport {
  const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const counts = { vms: 0, fates: {}, endings: {}, causes: {}, faults: {}, inVain: {}, asked: 0, cycles: {} };
  const nothing = { ...counts, lost: [], breaches: [], mostRunning: 0, reached: [] };
  return { run, form, drawn, ms, ...nothing, hung: [`not performed: ${why}`] };
}
