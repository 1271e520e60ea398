/**
 * Whether Lifeboat could do its work in a cluster: configuration, permissions, and that KubeVirt keeps our marks.
 * Owns: the checks. Does not own: authentication (app.ts).
 */
import type { Context } from "hono";
import type { Cluster } from "../shared/cluster/cluster.ts";
import { ClusterError } from "../shared/cluster/failure.ts";
import { isAnnotating } from "../shared/policy/descheduler-annotations.ts";
import { CONFIG_MAP, LIFEBOAT_NAMESPACE } from "../shared/policy/names.ts";
import { loadDeschedulerPolicy } from "../shared/config/load-descheduler-policy.ts";
import type { LoadedSettings } from "../shared/config/load-settings.ts";
import type { ConfigProblem } from "../shared/config/problem.ts";
import { tell } from "./carry-on.ts";
import type { Target } from "./target.ts";

const READ_SECONDS = 10;

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly field?: string;
  readonly message?: string;
}

export async function clusterReadyz(c: Context, target: Target): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const loaded = await target.settings(cluster, true);
  if (loaded.configMap !== undefined) c.executionCtx.waitUntil(reportConfiguration(target, loaded));
  const checks: readonly Check[] = [
    ...loaded.problems.map((problem) => ({ name: "configuration", ok: false, ...problem })),
    ...(loaded.problems.length === 0 ? [{ name: "configuration", ok: true }] : []),
    await check("pods", () => cluster.canList("pods")),
    await check("nodes", () => cluster.canList("nodes")),
    await check("evacuations", () => cluster.canList("evacuations")),
    await check("migrations", () => cluster.canList("virtualmachineinstancemigrations")),
    await check("budgets", () => cluster.canList("poddisruptionbudgets")),
    await check("marking", () => proveMarking(cluster, loaded)),
    ...(isAnnotating(loaded.settings) ? [await check("annotations", () => cluster.proveAnnotating())] : []),
    ...(await descheduling(cluster, loaded)),
  ];
  const ready = checks.every((one) => one.ok);
  const notes = [...loaded.notes, ...(await notesOnCounting(cluster))];
  return c.json({ ready, checks, ...(notes.length === 0 ? {} : { notes }) }, ready ? 200 : 503);
}

/** VMs are moved all the same: that is no reason not to be ready. */
async function notesOnCounting(cluster: Cluster): Promise<readonly string[]> {
  try {
    await cluster.getCounters();
    return [];
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return [`evacuations are not counted: ${error.message}`];
  }
}

/** Where KubeVirt's webhook does the marking, there is nothing to try out. */
async function proveMarking(cluster: Cluster, { settings }: LoadedSettings): Promise<void> {
  if (settings.marking !== "Evict") await cluster.proveMarking(settings.kubevirtNamespace);
}

/** Before there is a policy nothing is descheduled, which is no failure unless cycles are to begin by themselves. */
async function descheduling(cluster: Cluster, { settings }: LoadedSettings): Promise<readonly Check[]> {
  const name = "descheduling";
  if (!settings.featureGates.includes("EvictionsInBackground")) return [];
  const problems: ConfigProblem[] = [];
  const read = await check(name, async () => {
    await cluster.getDeschedulingRegister();
    const loaded = await loadDeschedulerPolicy(cluster);
    const isMissing = !loaded.ok && loaded.configMap === undefined;
    if (!loaded.ok && (!isMissing || settings.descheduling.intervalSeconds > 0)) problems.push(...loaded.problems);
  });
  return problems.length === 0 ? [read] : problems.map((problem) => ({ name, ok: false, ...problem }));
}

async function check(name: string, prove: () => Promise<unknown>): Promise<Check> {
  try {
    await prove();
    return { name, ok: true };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return { name, ok: false, message: error.message };
  }
}

/** An Event on the ConfigMap: one for each version of it, however many isolates notice. */
export async function reportConfiguration(target: Target, { configMap, problems }: LoadedSettings): Promise<void> {
  if (configMap === undefined) return;
  const message = problems.map((p) => `${p.field}: ${p.message}`).join("; ");
  const about = { kind: "ConfigMap", namespace: LIFEBOAT_NAMESPACE, name: CONFIG_MAP, uid: configMap.uid } as const;
  const occasion = configMap.resourceVersion;
  await tell(target, [{ verb: "Event", about, type: "Warning", reason: "InvalidConfiguration", message, occasion }]);
}
