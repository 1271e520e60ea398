/**
 * The operator's door: why is this pod treated so, what is being evacuated, stop that.
 * Owns: the routes' answers in JSON. Does not own: decisions, authentication (app.ts).
 */
import type { Context } from "hono";
import { stagesOf } from "../shared/policy/evacuation.ts";
import type { NamespacedName, VmiFacts } from "../shared/policy/facts.ts";
import type { Settings } from "../shared/policy/settings.ts";
import { resolveStrategy } from "../shared/policy/strategy.ts";
import { cancelEvacuation } from "../shared/reconcilers/cancel.ts";
import { reviewEviction } from "../shared/reconcilers/eviction.ts";
import { vmiPointer } from "../shared/reconcilers/pointer.ts";
import { observe } from "../shared/reconcilers/world.ts";
import { driveOn } from "./drive-on.ts";
import { RejectionError } from "./rejection.ts";
import type { Target } from "./target.ts";

const READ_SECONDS = 10;

/** The decision that an eviction of this pod would get now. Changes nothing. */
export async function explainPod(c: Context, target: Target, pod: NamespacedName): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const settings = async () => (await target.settings(cluster)).settings;
  const request = { username: "explain", cause: "ApiEviction" } as const;
  const { facts, decision } = await reviewEviction({ pod, request }, { cluster, settings, now: target.platform.now() });
  if (facts.pod === undefined) throw new RejectionError({ reason: "PodNotFound" });
  const { vmi } = facts;
  return c.json({
    pod: `${pod.namespace}/${pod.name}`,
    decision: {
      allowed: decision.verdict === "Allow",
      reason: decision.reason,
      ...(decision.verdict === "Deny" ? { code: 429, message: decision.message } : { warnings: decision.warnings }),
    },
    actions: decision.actions.map((action) => action.verb),
    facts: {
      pod: { phase: facts.pod.phase, nodeName: facts.pod.nodeName, ready: facts.pod.ready, labels: facts.pod.labels },
      ...(vmi === undefined ? {} : { vmi: { ...vmi, strategy: strategyInForce(vmi, facts.settings) } }),
      ...(facts.budgets === undefined ? {} : { budgets: facts.budgets }),
      ...(facts.migrations === undefined ? {} : { migrations: facts.migrations }),
      settings: facts.settings,
    },
  });
}

/** As written, where nobody knows it: to call it None would explain the opposite of the decision. */
function strategyInForce(vmi: VmiFacts, { clusterStrategy }: Settings): string {
  const resolved = resolveStrategy(vmi.evictionStrategy, clusterStrategy);
  return resolved.known ? resolved.strategy : resolved.value;
}

/** Evacuations under way: VMIs that carry the label, and where each stands. */
export async function listEvacuations(c: Context, target: Target): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const { settings } = await target.settings(cluster);
  const world = await observe([], { cluster, settings, now: target.platform.now() });
  const evacuations = stagesOf(world).map(({ vmi, stage }) => ({
    namespace: vmi.namespace,
    name: vmi.name,
    node: vmi.nodeName,
    marked: vmi.evacuationNodeName !== undefined,
    urgency: vmi.evacuationLabel,
    stage: stage.stage,
    ...(stage.stage === "Migrating" ? { migration: stage.migration.name, phase: stage.migration.phase } : {}),
    ...(vmi.record === undefined ? {} : { record: vmi.record }),
  }));
  return c.json({ evacuations });
}

export async function cancelOne(c: Context, target: Target, key: NamespacedName): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const { settings } = await target.settings(cluster);
  const result = await cancelEvacuation(key, { cluster, settings, clock: target.platform.now });
  switch (result.verdict) {
    case "NotEvacuating":
      throw new RejectionError({ reason: "NotEvacuating" });
    case "Conflict":
      throw new RejectionError({ reason: "Conflict" });
    case "DrainTaint":
      throw new RejectionError({ reason: "DrainTaint", node: result.node, taint: settings.drainTaintKey });
    case "Cancelled": {
      // What a cancel leaves to tidy up, the budget and the label, is done by the next pass.
      c.executionCtx.waitUntil(driveOn(target, [vmiPointer(key)]));
      const deleted = result.actions.flatMap((a) => (a.verb === "DeleteMigration" ? [a.migration.name] : []));
      return c.json({ cancelled: key, deletedMigrations: deleted });
    }
  }
}
