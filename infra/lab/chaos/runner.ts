/**
 * Performs runs one after another. Several runs use the same cluster. After a failed run, the next run gets a new
 * cluster.
 */
import { isReal } from "../../sandbox/index.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { type FormName, FORMS } from "./forms/form.ts";
import { drawPlan, type Plan, type PlanOptions } from "./plan.ts";
import { isBad, type RunReport } from "./report.ts";
import { performRun, prepareRun, type Prepared } from "./run.ts";
import { clearScene } from "./scene.ts";

export interface Runner {
  perform(options: PlanOptions): Promise<RunReport>;
  stop(): Promise<void>;
}

/** After this many runs, a new cluster is started, because the API server stores the Events of all runs. */
const RUNS_PER_CLUSTER = 100;

export function createRunner(): Runner {
  const current = new Map<FormName, { readonly cluster: Cluster; runs: number }>();

  const renew = async (form: FormName): Promise<void> => {
    const old = current.get(form);
    current.delete(form);
    await old?.cluster.stop();
  };
  const prepare = async (plan: Plan): Promise<{ readonly cluster: Cluster; readonly prepared: Prepared }> => {
    const { form } = plan;
    if ((current.get(form)?.runs ?? 0) >= RUNS_PER_CLUSTER) await renew(form);
    const used = current.get(form) ?? { cluster: await startCluster(form), runs: 0 };
    current.set(form, used);
    used.runs += 1;
    try {
      return { cluster: used.cluster, prepared: await prepareRun(used.cluster, plan) };
    } catch (error) {
      await renew(form);
      throw error;
    }
  };

  return {
    async perform(options) {
      const plan = drawPlan(options);
      try {
        // Repeats a failed preparation once, for example after a broken connection.
        const { cluster, prepared } = await prepare(plan).catch(() => prepare(plan));
        const report = await performRun(cluster, plan, prepared);
        if (isBad(report)) await keepLogs(cluster, report);
        if (isBad(report)) await renew(plan.form);
        else await clearScene(cluster, prepared.scene).catch(() => renew(plan.form));
        return report;
      } catch (error) {
        await renew(plan.form);
        return notPerformed(plan, error);
      }
    },
    stop: async () => void (await Promise.all(FORMS.map(renew))),
  };
}

async function keepLogs({ sandbox }: Cluster, { run }: RunReport): Promise<void> {
  if (isReal(sandbox))
    console.log(`the control plane's logs of run ${run} are in ${await sandbox.programs.keepLogs()}`);
}

function notPerformed({ run }: Plan, error: unknown): RunReport {
  const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const counts = { ms: 0, vms: 0, fates: {}, endings: {}, causes: {}, struck: {} };
  return { run, ...counts, lost: [], breaches: [], hung: [`not performed: ${why}`] };
}
