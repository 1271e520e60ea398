/** Observing nodes with a NoExecute taint: who lives there, and whether the API server keeps them there. */
import { type Client, named } from "../kube/client.ts";
import type { NodeFacts, PodFacts } from "../kube/facts.ts";
import { HOLD_TAINTS } from "../kube/names.ts";
import { evacuationsFrom, LAUNCHER, vmisOn } from "../kube/requests.ts";
import { isGateOn } from "../settings/guarded.ts";
import type { Observer } from "../settings/load-settings.ts";
import type { Settings } from "../settings/settings.ts";
import { NO_WORLD, type World } from "./carry-out.ts";

/** Whether the policy is there is asked only where its gate is off: Lifeboat then deletes what it holds. */
export async function withHold(settings: Settings, cluster: Client): Promise<Settings> {
  if (isGateOn("NoExecuteTaint", settings)) return settings;
  // One that may not be read is not known to be there.
  const binding = await cluster.get("validatingadmissionpolicybindings", named(HOLD_TAINTS), { expect: [403] });
  return { ...settings, isHoldingTaints: binding !== undefined };
}

/** Whether anything is to be done for what a taint drives away; `settings`: as withHold gives them. */
export function areTaintsConcern(settings: Settings): boolean {
  return settings.isHoldingTaints || isGateOn("NoExecuteTaint", settings);
}

export function hasNoExecuteTaint({ taints }: NodeFacts): boolean {
  return taints.some(({ effect }) => effect === "NoExecute");
}

export function launchersOn({ name }: NodeFacts, cluster: Client): Promise<readonly PodFacts[]> {
  return cluster.list("pods", { labels: LAUNCHER, fields: { "spec.nodeName": name } });
}

/** Launcher pods of nodes with a NoExecute taint, and Evacuations of their VMs: what an event has not shown. */
export async function observeTaints(
  nodes: readonly NodeFacts[],
  cluster: Client,
): Promise<Pick<World, "pods" | "evacuations">> {
  const tainted = nodes.filter(hasNoExecuteTaint);
  const [pods, evacuations] = await Promise.all([
    ofEach(tainted, (node) => launchersOn(node, cluster)),
    ofEach(tainted, ({ name }) => evacuationsFrom(name, cluster)),
  ]);
  return { pods, evacuations };
}

/** Nodes with a NoExecute taint, and who lives there. */
export async function observeTaintedNodes({ cluster, settings, now }: Observer): Promise<World> {
  const nodes = (await cluster.list("nodes")).filter(hasNoExecuteTaint);
  const [seen, vmis] = await Promise.all([
    observeTaints(nodes, cluster),
    ofEach(nodes, ({ name }) => vmisOn(name, cluster)),
  ]);
  return { ...NO_WORLD, settings, now, ...seen, nodes, vmis };
}

export async function ofEach<T>(
  nodes: readonly NodeFacts[],
  list: (node: NodeFacts) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  return (await Promise.all(nodes.map(list))).flat();
}
