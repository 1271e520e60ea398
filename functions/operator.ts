/**
 * The operator's door: why is this pod treated so, what is being evacuated, stop that.
 * Owns: the routes' answers in JSON. Does not own: decisions, authentication (app.ts).
 */
import type { Context } from "hono";
import type { EvacuationFacts, NamespacedName, NodeFacts, VmiFacts } from "../shared/policy/facts.ts";
import { carriesDrainTaint } from "../shared/policy/kube/taints.ts";
import { cooldownReason } from "../shared/policy/evacuation/cooldown.ts";
import { newEvacuation } from "../shared/policy/evacuation/identity.ts";
import { isMarked } from "../shared/policy/evacuation/mark.ts";
import { isActive } from "../shared/policy/evacuation/phase.ts";
import type { Settings } from "../shared/policy/settings.ts";
import { resolveStrategy } from "../shared/policy/eviction/eviction-table.ts";
import type { Cluster } from "../shared/cluster/cluster.ts";
import { reviewEviction } from "../shared/pass/eviction.ts";
import { reconcileVmi } from "../shared/pass/pass.ts";
import { reconciling } from "./reconciling.ts";
import { RejectionError } from "./rejection.ts";
import type { Target } from "./target.ts";

const READ_SECONDS = 10;

/** The decision that an eviction of this pod would get now. Changes nothing. */
export async function explainPod(c: Context, target: Target, key: NamespacedName): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const settings = async () => (await target.settings(cluster)).settings;
  const request = { username: "explain", cause: "ApiEviction" } as const;
  const pod = cluster.getPod(key);
  const { facts, decision } = await reviewEviction(
    { key, pod, request },
    { cluster, settings, now: target.platform.now() },
  );
  if (facts.pod === undefined) throw new RejectionError("PodNotFound");
  const { vmi } = facts;
  const cooldown = vmi === undefined ? undefined : cooldownReason(vmi, facts);
  return c.json({
    pod: `${key.namespace}/${key.name}`,
    decision: {
      allowed: decision.verdict === "Allow",
      reason: decision.reason,
      ...(decision.verdict === "Deny" ? { code: 429, message: decision.message } : { warnings: decision.warnings }),
    },
    ...(cooldown === undefined ? {} : { cooldown }),
    actions: decision.actions.map((action) => action.verb),
    facts: {
      pod: { phase: facts.pod.phase, nodeName: facts.pod.nodeName, ready: facts.pod.ready, labels: facts.pod.labels },
      ...(vmi === undefined ? {} : { vmi: { ...vmi, strategy: strategyInForce(vmi, facts.settings) } }),
      evacuations: facts.evacuations,
      ...(facts.migrations === undefined ? {} : { migrations: facts.migrations }),
      settings: facts.settings,
    },
  });
}

/** As written, where it is none that we know: to call it None would explain the opposite of the decision. */
function strategyInForce(vmi: VmiFacts, settings: Settings): string {
  const resolved = resolveStrategy(vmi, settings);
  return resolved.known ? resolved.strategy : resolved.value;
}

/** Evacuations that have not ended. */
export async function listEvacuations(c: Context, target: Target): Promise<Response> {
  const evacuations = await target.connect(READ_SECONDS).listEvacuations("Active");
  return c.json({
    evacuations: evacuations.map(({ namespace, name, spec, status }) => ({ namespace, name, spec, status })),
  });
}

/** Withdraws every evacuation of the VMI. One that only KubeVirt's mark tells of becomes an Evacuation first. */
export async function cancelOne(c: Context, target: Target, key: NamespacedName): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const { settings } = await target.settings(cluster);
  const [vmi, evacuations] = await Promise.all([cluster.getVmi(key), cluster.listEvacuations(key)]);
  const active = evacuations.filter(isActive);
  if (vmi === undefined || (active.length === 0 && !isMarked(vmi))) throw new RejectionError("NotEvacuating");
  const node = vmi.nodeName === undefined ? undefined : await cluster.getNode(vmi.nodeName);
  refuseUnderDrainTaint(node, settings);
  const marked = active.length > 0 ? active : await begun(vmi, evacuations, { cluster, now: target.platform.now() });
  for (const evacuation of marked) await cluster.withdraw(evacuation);
  await reconciling(target, READ_SECONDS, (deps) => reconcileVmi(key, deps));
  return c.json({ cancelled: key, evacuations: marked.map(({ name }) => name) });
}

/** The taint would begin it again at once. */
function refuseUnderDrainTaint(node: NodeFacts | undefined, settings: Settings): void {
  if (node === undefined || !carriesDrainTaint(node, settings)) return;
  const message = `node "${node.name}" carries the drain taint ${settings.drainTaintKey}: remove that first`;
  throw new RejectionError("DrainTaint", { message });
}

async function begun(
  vmi: VmiFacts,
  evacuations: readonly EvacuationFacts[],
  { cluster, now }: { readonly cluster: Cluster; readonly now: Date },
): Promise<readonly EvacuationFacts[]> {
  const beginning = { cause: "ApiEviction", requestedBy: "KubeVirt" } as const;
  const created = await cluster.createEvacuation(newEvacuation(vmi, beginning, { evacuations, now }));
  return created === "Conflict" ? [] : [created];
}
