/**
 * The metrics of a cluster, for Prometheus.
 *
 * Functions share no memory: everything is read from the cluster.
 */
import type { Context } from "hono";
import { type Client, named } from "../shared/kube/client.ts";
import { ClusterError } from "../shared/kube/failures.ts";
import { expiryOf } from "../shared/settings/token-expiry.ts";
import { type ClusterMetrics, renderMetrics, type SeenMetrics } from "../shared/metrics/metrics.ts";
import { OPEN_METRICS } from "../shared/metrics/open-metrics.ts";
import { CONFIGURATION } from "../shared/kube/names.ts";
import { isAccepted, lookAtWebhooks } from "./installation.ts";
import { isUndecided } from "../shared/settings/conditions.ts";
import type { Target } from "./target.ts";

/** Of Lifeboat: package.json's, a test keeps them together. */
export const VERSION = "0.1.0";
/** Prometheus gives up after 10, unless told otherwise. */
const READ_SECONDS = 9;

export async function clusterMetrics(c: Context, target: Target): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const credential = { expiresAt: expiryOf(target.entry.token), rejected: false };
  const answer = (metrics: Omit<ClusterMetrics, "version">) =>
    c.body(renderMetrics({ version: VERSION, ...metrics }), 200, { "content-type": OPEN_METRICS });
  try {
    return answer({ credential, seen: await readAll(target, cluster) });
  } catch (error) {
    // What can be said without the cluster is worth more to an alert than a scrape that fails.
    if (!isRefused(error, 401) || (await isAccepted(cluster))) throw error;
    return answer({ credential: { ...credential, rejected: true } });
  }
}

async function readAll(target: Target, cluster: Client): Promise<SeenMetrics> {
  const { settings } = await target.settings(cluster);
  const [configuration, evacuations, webhooks] = await Promise.all([
    cluster.get("lifeboatconfigurations", named(CONFIGURATION)),
    cluster.list("evacuations"),
    lookAtWebhooks(target, cluster, settings),
  ]);
  const isDescheduling = settings.featureGates.includes("EvictionsInBackground");
  const now = target.platform.now();
  return { evacuations, webhooks, undecided: isUndecided(configuration), isDescheduling, now };
}

function isRefused(error: unknown, code: number): boolean {
  return error instanceof ClusterError && error.failure.reason === "Refused" && error.failure.code === code;
}
