/** Runs descheduling cycles on request, and when the interval has passed. */
import type { Context } from "hono";
import type { Answered, CycleReport } from "../shared/descheduling/cycle/cycle.ts";
import { EVICTION_OUTCOMES } from "../shared/descheduling/cycle/request.ts";
import { cycleLease, deschedule, type DeschedulingDeps, isCycleDue } from "../shared/descheduling/deschedule.ts";
import { type LoadedPolicy, loadPolicy } from "../shared/descheduling/policy-file.ts";
import { descheduling } from "../shared/descheduling/feature.ts";
import { isFeatureOn } from "../shared/settings/feature.ts";
import { reconcileActive } from "../shared/reconcile/reconcile.ts";
import { DESCHEDULER_CONFIG_MAP, LIFEBOAT_NAMESPACE } from "../shared/kube/names.ts";
import { RejectionError, rejectProblems } from "./errors.ts";
import { reconcileWithin, recordEvents, SETTINGS_SECONDS } from "./reconcile.ts";
import type { Target } from "./target.ts";
import { keyOf } from "../shared/kube/objects.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

/** The time limit of a cycle, in seconds. A cycle can read 50,000 pods in 200 pages. */
const CYCLE_SECONDS = 240;
/**
 * The share of a cycle's time in which Lifeboat reads pods and requests evacuations. In the remaining time, Lifeboat
 * waits for the last request, and records its outcome.
 */
const REQUESTING = 11 / 12;
const LISTED = 500;
const [GATE] = descheduling.gates;

export async function descheduleNow(c: Context, target: Target): Promise<Response> {
  const dryRun = queryFlag(c, "dryRun");
  const cluster = target.connect(SETTINGS_SECONDS);
  const { settings } = await target.settings(cluster);
  if (!isFeatureOn(descheduling, settings)) {
    return rejectProblems("InvalidConfiguration", [{ field: `featureGates.${GATE}`, message: "expected true" }]);
  }
  const loaded = await loadPolicy(cluster);
  if (!loaded.ok) {
    c.executionCtx.waitUntil(reportPolicy(target, loaded));
    return rejectProblems("InvalidConfiguration", loaded.problems);
  }
  if (!dryRun) c.executionCtx.waitUntil(reportPolicy(target, loaded));
  const report = await runCycle(target, { policy: loaded.policy, settings, dryRun });
  if (!dryRun) c.executionCtx.waitUntil(requeue(target, report, REQUEUE_SECONDS.afterAnswer));
  return c.json({ dryRun, ...rendered(report) });
}

function queryFlag(c: Context, field: string): boolean {
  const value = c.req.query(field);
  if (value === undefined || value === "false") return false;
  if (value === "true") return true;
  throw new RejectionError("BadRequest", { field, message: MESSAGES.trueOrFalse });
}

/** Runs a descheduling cycle if the cluster's interval has passed. Can throw a ClusterError. */
export async function descheduleIfDue(target: Target): Promise<void> {
  const cluster = target.connect(SETTINGS_SECONDS);
  const { settings } = await target.settings(cluster);
  const { intervalSeconds } = settings.descheduling;
  if (intervalSeconds <= 0 || !isFeatureOn(descheduling, settings)) return;
  const lease = await cycleLease(cluster);
  if (!isCycleDue(lease, intervalSeconds, target.platform.now())) return;
  const loaded = await loadPolicy(target.connect(SETTINGS_SECONDS));
  await reportPolicy(target, loaded);
  if (!loaded.ok) return;
  const report = await runCycle(target, { policy: loaded.policy, settings, dryRun: false, lease });
  await requeue(target, report, REQUEUE_SECONDS.ofTick);
}

/**
 * Time limits, in seconds, of the reconcile after a cycle. `ofTick` is for a scheduled cycle. `afterAnswer` is for a
 * cycle that an HTTP request started, and is shorter: Cloudflare stops all work 30 s after the answer.
 */
const REQUEUE_SECONDS = { afterAnswer: 20, ofTick: 50 } as const;

async function requeue(target: Target, { nominations, withdrawn }: CycleReport, seconds: number): Promise<void> {
  if (withdrawn.length === 0 && !nominations.some(({ result }) => result === "Background")) return;
  try {
    await reconcileWithin(target, seconds, reconcileActive);
  } catch (error) {
    target.logFailure(MESSAGES.reconcilingDescheduled, error);
  }
}

async function runCycle(
  target: Target,
  cycle: Pick<DeschedulingDeps, "policy" | "settings" | "dryRun" | "lease">,
): Promise<CycleReport> {
  const { platform } = target;
  const report = await deschedule({
    ...cycle,
    cluster: target.connect(CYCLE_SECONDS),
    seconds: target.within(CYCLE_SECONDS) * REQUESTING,
    now: platform.now,
    onFailure: (error) => target.logFailure("descheduling", error),
  });
  const { ended, nodes, pods, inProgress, nominations } = report;
  const counts = { ended, nodes, pods, inProgress, results: countsOf(nominations), withdrawn: report.withdrawn.length };
  platform.log({ endpoint: "deschedule", cluster: target.name, dryRun: cycle.dryRun, ...counts });
  return report;
}

function rendered({ ended, nodes, pods, inProgress, nominations, withdrawn }: CycleReport) {
  const { requested = [], skipped = [] } = Object.groupBy(nominations, (one) =>
    EVICTION_OUTCOMES.some((outcome) => outcome === one.result) ? "requested" : "skipped",
  );
  return {
    ended,
    nodes,
    pods,
    evacuationsInProgress: inProgress,
    nominated: nominations.length,
    results: countsOf(nominations),
    requested: requested.slice(0, LISTED).map((one) => ({ ...renderedPod(one), outcome: one.result })),
    skipped: skipped.slice(0, LISTED).map((one) => ({ ...renderedPod(one), why: one.result })),
    withdrawn: withdrawn.slice(0, LISTED).map(keyOf),
  };
}

function renderedPod({ pod, profile, plugin, reason }: Answered) {
  return { pod: keyOf(pod), node: pod.nodeName, profile, plugin, reason };
}

function countsOf(nominations: readonly Answered[]): Readonly<Record<string, number>> {
  const groups = Map.groupBy(nominations, ({ result }) => result);
  return Object.fromEntries([...groups].map(([result, { length }]) => [result, length]));
}

/** Logs the problems of a policy, and records an Event about the policy's ConfigMap. */
async function reportPolicy(target: Target, { configMap, problems }: LoadedPolicy) {
  if (problems.length === 0) return;
  const message = problems.map((p) => `${p.field}: ${p.message}`).join("; ");
  target.platform.log({ level: "error", cluster: target.name, reason: "InvalidConfiguration", message });
  if (configMap === undefined) return;
  const { uid, resourceVersion: occasion } = configMap;
  const about = { kind: "ConfigMap", namespace: LIFEBOAT_NAMESPACE, name: DESCHEDULER_CONFIG_MAP, uid } as const;
  await recordEvents(target, [
    { verb: "Event", about, type: "Warning", reason: "InvalidConfiguration", message, occasion },
  ]);
}
