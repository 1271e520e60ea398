/** Observing the VMs that leave other nodes at the same time, because a NodeEvacuation or an Evacuation says so: they need room, too. */
import type { Client } from "../kube/client.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { isActive } from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { HOTPLUG_COMPONENT, COMPONENT_LABEL, LAUNCHER_COMPONENT } from "../kube/names.ts";
import { hasEnded } from "../kube/node-evacuation.ts";
import { isFinal, keyOf, launcherOfHotplug, vmiNameOf } from "../kube/objects.ts";
import * as requests from "../kube/requests.ts";
import { canMigrate } from "../settings/strategy.ts";
import type { Observer } from "../settings/load-settings.ts";
import type { Leaving, PreflightPod } from "./facts.ts";
import type { FitNode } from "./fit.ts";
import { preflightPodSchema } from "./preflight-pod.ts";

interface Around {
  /** The node to drain. */
  readonly name: string;
  readonly nodes: readonly FitNode[];
  /** Evacuations, among them all Evacuations of the cluster that have not ended. */
  readonly evacuations: readonly EvacuationFacts[];
}

/** So many nodes are read. */
const MOST_NODES = 10;

/** `Everything`: each VM of the node that can migrate. */
type Wanted = "Everything" | ReadonlySet<string>;

export async function observeElsewhere(
  { name, nodes, evacuations }: Around,
  { cluster, settings }: Pick<Observer, "cluster" | "settings">,
  unread: string[],
): Promise<readonly Leaving[]> {
  const closed = new Set(nodes.filter(({ unschedulable }) => unschedulable).map((node) => node.name));
  const wanted = await wantedIn(evacuations, closed, cluster);
  const leaving = nodes.filter((node) => node.name !== name && wanted.has(node.name));
  if (leaving.length > MOST_NODES) unread.push(`VMs that leave ${leaving.length - MOST_NODES} other nodes`);
  const found: Leaving[] = [];
  for (const node of leaving.slice(0, MOST_NODES)) {
    const isWanted = isIn(wanted.get(node.name) ?? new Set());
    found.push(await leavingOf(node, (vmi) => isWanted(vmi) && canMigrate(vmi, settings), cluster));
  }
  return found.filter(({ vmis }) => vmis.length > 0);
}

function isIn(wanted: Wanted) {
  return (vmi: VmiFacts) => wanted === "Everything" || wanted.has(keyOf(vmi));
}

/** While a NodeEvacuation is paused, or its node is uncordoned, VMs that have an Evacuation continue, and the others stay. */
async function wantedIn(
  evacuations: readonly EvacuationFacts[],
  closed: ReadonlySet<string>,
  cluster: Client,
): Promise<ReadonlyMap<string, Wanted>> {
  const active = evacuations.filter((e) => isActive(e) && e.status.sourceNode !== undefined);
  const vms = Map.groupBy(active, ({ status }) => status.sourceNode ?? "");
  const byEvacuation = [...vms].map(([node, all]): [string, Wanted] => {
    return [node, new Set(all.map(({ namespace, spec }) => keyOf({ namespace, name: spec.vmiName })))];
  });
  const all = await cluster.list("nodeevacuations").catch(requests.noneUnlessServed);
  const running = all.filter((ne) => {
    const { progress, intent, nodeName } = ne.spec;
    const isWanted = progress === "Running" && intent !== "Withdrawn" && closed.has(nodeName);
    return isWanted && !hasEnded(ne) && ne.status.startTime !== undefined;
  });
  return new Map([...byEvacuation, ...running.map(({ spec }): [string, Wanted] => [spec.nodeName, "Everything"])]);
}

async function leavingOf(node: FitNode, isLeaving: (vmi: VmiFacts) => boolean, cluster: Client): Promise<Leaving> {
  const labels = { [COMPONENT_LABEL]: [LAUNCHER_COMPONENT, HOTPLUG_COMPONENT] };
  const [pods, here] = await Promise.all([
    cluster.list("pods", { labels, fields: { "spec.nodeName": node.name }, as: preflightPodSchema() }),
    requests.vmisOn(node.name, cluster),
  ]);
  const vmis = here.filter((vmi) => !isFinal(vmi) && isLeaving(vmi));
  const names = new Set(vmis.map(keyOf));
  const isIts = (pod: PreflightPod) =>
    !isFinal(pod) && (launcherOfHotplug(pod) !== undefined || names.has(keyOf({ ...pod, name: vmiNameOf(pod) ?? "" })));
  const migrations = await requests.migrationsUnderWay(vmis, cluster);
  return { node, pods: pods.filter(isIts), vmis, migrations };
}
