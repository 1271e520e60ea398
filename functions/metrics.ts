/**
 * The metrics of a cluster, for Prometheus.
 * Owns: what is read for them. Does not own: their text (shared/metrics), authentication (app.ts).
 *
 * Functions share no memory: everything is read from the cluster.
 */
import type { Context } from "hono";
import type { Cluster } from "../shared/cluster/cluster.ts";
import { ClusterError } from "../shared/cluster/failure.ts";
import { renderMetrics } from "../shared/metrics/metrics.ts";
import { OPEN_METRICS } from "../shared/metrics/open-metrics.ts";
import type { DeschedulingRegister } from "../shared/descheduling/cycle/register.ts";
import type { Target } from "./target.ts";

/** Of Lifeboat: package.json's, a test keeps them together. */
export const VERSION = "0.1.0";
/** Prometheus gives up after 10, unless told otherwise. */
const READ_SECONDS = 9;

export async function clusterMetrics(c: Context, target: Target): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const { settings } = await target.settings(cluster);
  const [counters, evacuations, register] = await Promise.all([
    cluster.getCounters(),
    cluster.listEvacuations("Active"),
    settings.featureGates.includes("EvictionsInBackground") ? registerOf(cluster) : undefined,
  ]);
  const metrics = { version: VERSION, counters, evacuations, ...(register && { requests: register.counts }) };
  return c.body(renderMetrics(metrics), 200, { "content-type": OPEN_METRICS });
}

/** Absent without the permission: the gate may be on for another descheduler. */
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
