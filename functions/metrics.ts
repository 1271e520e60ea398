/** Probes and metrics for Prometheus. Each request about a cluster reads from that cluster's API server. */
import type { Context } from "hono";
import { type Client, named } from "../shared/kube/client.ts";
import { cycleLease } from "../shared/descheduling/deschedule.ts";
import { evacuationsRequested } from "../shared/descheduling/cycle/memory.ts";
import { ClusterError } from "../shared/kube/failures.ts";
import { CONFIGURATION } from "../shared/kube/names.ts";
import { noneUnlessServed } from "../shared/kube/requests.ts";
import { expiryOf, isTokenAccepted } from "../shared/kube/reviews.ts";
import { parseClusters, problemsOf } from "../shared/settings/clusters.ts";
import { parseConfiguration } from "../shared/settings/configuration.ts";
import { guardProblem, isUndecided } from "../shared/settings/conditions.ts";
import { parseKeys } from "../shared/settings/sealed-entry.ts";
import { judgeCredential } from "../shared/settings/credential.ts";
import { descheduling } from "../shared/descheduling/feature.ts";
import { isFeatureOn } from "../shared/settings/feature.ts";
import { type ClusterMetrics, renderMetrics, type SeenMetrics } from "../shared/metrics/metrics.ts";
import { OPEN_METRICS } from "../shared/metrics/open-metrics.ts";
import { credentialOf, readWebhooks } from "./conditions.ts";
import { type Env, VERSION } from "./env.ts";
import { RejectionError, rejectProblems } from "./errors.ts";
import type { Target } from "./target.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

const READ_SECONDS = 9;

/** Answers whether the API server of a cluster accepts Lifeboat's token. */
export async function clusterReadyz(c: Context, target: Target): Promise<Response> {
  const rejected = !(await isTokenAccepted(target.connect(READ_SECONDS)));
  const credential = { expiresAt: expiryOf(target.entry.token), rejected };
  const { ok, message } = judgeCredential(credential, target.platform.now());
  return c.json({ ready: ok, message }, ok ? 200 : 503);
}

export async function clusterMetrics(c: Context, target: Target): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const answer = (metrics: Omit<ClusterMetrics, "version">) =>
    c.body(renderMetrics({ version: VERSION, ...metrics }), 200, { "content-type": OPEN_METRICS });
  try {
    const seen = await readAll(target, cluster);
    return answer({ credential: { expiresAt: expiryOf(target.entry.token), rejected: false }, seen });
  } catch (error) {
    // If the API server rejects the token, answers with the metrics that need no read. An alert can then report the
    // rejected token.
    const credential = isRefused(error, 401) ? await credentialOf(target, cluster) : undefined;
    if (credential?.rejected !== true) throw error;
    return answer({ credential });
  }
}

async function readAll(target: Target, cluster: Client): Promise<SeenMetrics> {
  const { settings } = await target.settings(cluster);
  const isDescheduling = isFeatureOn(descheduling, settings);
  const [configuration, evacuations, nodeEvacuations, rolling, webhooks, podEvacuations] = await Promise.all([
    cluster.get("lifeboatconfigurations", named(CONFIGURATION)),
    cluster.list("evacuations"),
    cluster.list("nodeevacuations").catch(ofOlderManifests),
    cluster.list("rollingmaintenances").catch(ofOlderManifests),
    readWebhooks(target, cluster, settings),
    isDescheduling ? podEvacuationsBy(cluster) : undefined,
  ]);
  const now = target.platform.now();
  const configurationProblems = parseConfiguration(configuration?.spec ?? {}).problems.length;
  const seen = { undecided: isUndecided(configuration), guardProblem: guardProblem(configuration) };
  return {
    evacuations,
    nodeEvacuations,
    rolling,
    webhooks,
    configurationProblems,
    ...seen,
    isDescheduling,
    podEvacuations,
    now,
  };
}

/**
 * Returns undefined if the API server forbids the read. Returns an empty list if the API server does not serve the
 * kind. Throws any other error, so that the scrape fails.
 */
function ofOlderManifests(error: unknown): readonly never[] | undefined {
  return isRefused(error, 403) ? undefined : noneUnlessServed(error);
}

/** Reads the number of pod evacuations from the descheduling Lease. Returns undefined if the Lease cannot be read. */
async function podEvacuationsBy(cluster: Client): Promise<number | undefined> {
  return await cycleLease(cluster).then(
    ({ annotations }) => evacuationsRequested(annotations),
    () => undefined,
  );
}

function isRefused(error: unknown, code: number): boolean {
  return error instanceof ClusterError && error.failure.reason === "Refused" && error.failure.code === code;
}

/**
 * Answers whether CLUSTERS can be parsed. If CLUSTER_REGISTRY is bound, REGISTRY_KEY must be valid, too. The answer
 * contains no cluster names, because the request needs no token.
 */
export function fleetReadyz(c: Context, env: Env): Response {
  const { CLUSTERS, CLUSTER_REGISTRY, REGISTRY_KEY } = env;
  const keys = CLUSTER_REGISTRY === undefined ? undefined : parseKeys(REGISTRY_KEY);
  if (keys?.ok === false) rejectProblems("InvalidConfiguration", keys.problems);
  const configured = CLUSTERS !== undefined || CLUSTER_REGISTRY !== undefined;
  if (configured && problemsOf(parseClusters(CLUSTERS)).length === 0) return c.json({ ready: true });
  throw new RejectionError("InvalidConfiguration", { field: "CLUSTERS", message: MESSAGES.invalidClusters });
}
