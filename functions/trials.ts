/**
 * What Lifeboat needs to be allowed to do in a cluster, tried out without changing anything.
 * Owns: the list. Does not own: who is told (readyz.ts, conditions.ts).
 */
import type { Cluster } from "../shared/cluster/cluster.ts";
import { ClusterError } from "../shared/cluster/failure.ts";
import type { Trial } from "../shared/policy/configuration-status.ts";
import { isAnnotating } from "../shared/policy/annotations/descheduler-annotations.ts";
import type { Settings } from "../shared/policy/settings.ts";

export async function tryPermissions(cluster: Cluster, settings: Settings): Promise<readonly Trial[]> {
  const isDescheduling = settings.featureGates.includes("EvictionsInBackground");
  return [
    await tried("kubevirt", () => cluster.getKubeVirt()),
    await tried("pods", () => cluster.canList("pods")),
    await tried("nodes", () => cluster.canList("nodes")),
    await tried("evacuations", () => cluster.canList("evacuations")),
    await tried("migrations", () => cluster.canList("virtualmachineinstancemigrations")),
    await tried("budgets", () => cluster.canList("poddisruptionbudgets")),
    await tried("marking", () => proveMarking(cluster, settings)),
    ...(isAnnotating(settings) ? [await tried("annotations", () => cluster.proveAnnotating())] : []),
    ...(isDescheduling ? [await tried("descheduling", () => cluster.getDeschedulingRegister())] : []),
  ];
}

/** Where KubeVirt's webhook does the marking, there is nothing to try out. */
async function proveMarking(cluster: Cluster, settings: Settings): Promise<void> {
  if (settings.marking !== "Evict") await cluster.proveMarking(settings.kubevirtNamespace);
}

const FORBIDDEN = 403;

export async function tried(name: string, prove: () => Promise<unknown>): Promise<Trial> {
  try {
    await prove();
    return { name };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    const { failure, message } = error;
    const forbidden = failure.reason === "MarkNotKept" || (failure.reason === "Refused" && failure.code === FORBIDDEN);
    return { name, problem: { forbidden, message } };
  }
}
