/**
 * Finds VMs on nodes with a NoExecute taint, and checks whether a ValidatingAdmissionPolicy protects their pods from
 * the taint manager.
 */
import { decideSafely } from "../facts/decide.ts";
import { each, type Facts, together } from "../facts/facts.ts";
import { factsOfNodes } from "../facts/lists.ts";
import * as ask from "../facts/questions.ts";
import { liveReads } from "../facts/reads.ts";
import { guard } from "../guard/feature.ts";
import { type Client, named } from "../kube/client.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { HOLD_TAINTS } from "../kube/names.ts";
import { keyOf, vmiNameOf } from "../kube/objects.ts";
import { readEvacuationsFrom } from "../kube/requests.ts";
import { selectLaunchersOn } from "../kube/selections.ts";
import { isGateOn } from "../settings/guarded.ts";
import type { Settings } from "../settings/settings.ts";
import type { Deciding } from "../settings/time.ts";
import { attempt, carryOut, type Deps, NOTHING, type Result, sum } from "./carry-out.ts";
import type { PlansOfNodes } from "./nodes.ts";
import { RECONCILE_MESSAGES as MESSAGES } from "./messages.ts";

/**
 * Adds `isHoldingTaints` to the settings. The value is true if the ValidatingAdmissionPolicy HOLD_TAINTS is installed,
 * which protects pods from the taint manager. Reads the policy only if the feature gate NoExecuteTaint is off.
 */
export async function withHold(settings: Settings, cluster: Client): Promise<Settings> {
  if (isGateOn("NoExecuteTaint", settings)) return settings;
  // Treats the policy as missing if Lifeboat may not read it.
  const binding = await cluster.get("validatingadmissionpolicybindings", named(HOLD_TAINTS), { expect: [403] });
  return { ...settings, isHoldingTaints: binding !== undefined };
}

/**
 * Returns true if Lifeboat reacts to pods that are deleted because of a taint. `settings` must come from `withHold`.
 */
export function areTaintsConcern(settings: Settings): boolean {
  return settings.isHoldingTaints || isGateOn("NoExecuteTaint", settings);
}

export function hasNoExecuteTaint({ taints }: NodeFacts): boolean {
  return taints.some(({ effect }) => effect === "NoExecute");
}

export function readLaunchersOn({ name }: NodeFacts, cluster: Client): Promise<readonly PodFacts[]> {
  return cluster.list("pods", selectLaunchersOn(name));
}

/**
 * Reads the launcher pods of nodes with a NoExecute taint, and the Evacuations of their VMs. Does not rely on events,
 * because the relay might have reported no event about these pods.
 */
export async function readTaints(nodes: readonly NodeFacts[], cluster: Client) {
  const tainted = nodes.filter(hasNoExecuteTaint);
  const [launchers, evacuations] = await Promise.all([
    ofEach(tainted, (node) => readLaunchersOn(node, cluster)),
    ofEach(tainted, ({ name }) => readEvacuationsFrom(name, cluster)),
  ]);
  return { launchers, evacuations };
}

/**
 * Returns the pods of these VMIs. Leaves out pods whose VMI is not in `vmis`, because the reconcile of that VMI handles
 * these pods.
 */
export function ofThese(vmis: readonly VmiFacts[], pods: readonly PodFacts[]): readonly PodFacts[] {
  const keys = new Set(vmis.map(keyOf));
  return pods.filter((pod) => keys.has(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" })));
}

export async function ofEach<T>(
  nodes: readonly NodeFacts[],
  list: (node: NodeFacts) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  return (await Promise.all(nodes.map(list))).flat();
}

function decideOnTaints({ facts, settings, now }: Deciding): PlansOfNodes {
  const nodes = facts.readable("nodes").items.filter(hasNoExecuteTaint);
  const found = each(nodes, ({ name }) =>
    together(
      () => facts.readable("pods", selectLaunchersOn(name)).items,
      () => ask.evacuationsFrom(name, facts),
      () => ask.vmisOn(name, facts),
    ),
  );
  const evacuations = found.flatMap(([, all]) => all);
  const vmis = found.flatMap(([, , all]) => all);
  const pods = ofThese(
    vmis,
    found.flatMap(([all]) => all),
  );
  const world = { settings, now, facts: factsOfNodes(nodes), vmis, evacuations, pods };
  return { plans: [{ name: guard.name, ...guard.plan(world) }], evacuations };
}

function isNothingToDo({ plans }: PlansOfNodes): boolean {
  return plans.every(({ chains }) => chains.length === 0);
}

type Requeue = (before: PlansOfNodes, started: Result, deps: Deps) => Promise<Result>;

/**
 * Reconciles tainted nodes, including nodes that were tainted before a feature gate was enabled. If nodes and pods are
 * watched, reads from the API server only if the watches show work.
 */
export async function reconcileTaints(deps: Deps, requeue: Requeue): Promise<Result> {
  const { cluster, clock, watched } = deps;
  const { found, result } = await attempt(MESSAGES.reconcilingTaints, deps, async () => {
    const settings = await withHold(deps.settings, cluster);
    if (!areTaintsConcern(settings)) return NOTHING;
    const now = clock();
    const sources = watched === undefined ? [] : [{ reads: watched(cluster), isSafe: isNothingToDo }];
    const rule = (facts: Facts) => decideOnTaints({ facts, settings, now });
    const { answer } = await decideSafely(rule, sources, liveReads(cluster));
    const started = await carryOut(answer.plans, deps);
    return sum([started, await requeue(answer, started, deps)]);
  });
  return sum([found ?? NOTHING, result]);
}
