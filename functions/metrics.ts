/**
 * The metrics of a cluster, for whoever scrapes them.
 * Owns: what is read for them. Does not own: their text (shared/metrics), authentication (app.ts).
 *
 * A function that answers knows nothing of the others: all there is to tell is read from the cluster.
 */
import type { Context } from "hono";
import type { Cluster } from "../shared/cluster/cluster.ts";
import { ClusterError } from "../shared/cluster/failure.ts";
import { renderMetrics } from "../shared/metrics/metrics.ts";
import { OPEN_METRICS } from "../shared/metrics/open-metrics.ts";
import type { DeschedulingRegister } from "../shared/policy/descheduling/register.ts";
import type { Target } from "./target.ts";
import { VERSION } from "./version.ts";

/** Prometheus gives up after 10, unless told otherwise. */
const READ_SECONDS = 9;

export async function clusterMetrics(c: Context, target: Target): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const { settings } = await target.settings(cluster);
  const [counters, vmis, register] = await Promise.all([
    cluster.getCounters(),
    cluster.listEvacuations("Active"),
    settings.featureGates.includes("EvictionsInBackground") ? registerOf(cluster) : undefined,
  ]);
  const descheduling = register && { counts: register.counts, inProgress: vmis.length };
  const metrics = { version: VERSION, counters, vmis, ...(descheduling && { descheduling }) };
  return c.body(renderMetrics(metrics), 200, { "content-type": OPEN_METRICS });
}

/** The gate may be on for another descheduler's sake: without the permission there is nothing to tell. */
async function registerOf(cluster: Cluster): Promise<DeschedulingRegister | undefined> {
  try {
    return await cluster.getDeschedulingRegister();
  } catch (error) {
    const isForbidden =
      error instanceof ClusterError && error.failure.reason === "Refused" && error.failure.code === 403;
    if (!isForbidden) throw error;
    return undefined;
  }
}
