/**
 * Finds VMs that leave other nodes while this node is drained. These VMs also need free resources on the remaining
 * nodes.
 */
import { each, type Facts, together } from "../facts/facts.ts";
import { migrationsUnderWay, nodeEvacuations, unlessNotServed } from "../facts/questions.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { HOTPLUG_COMPONENT, COMPONENT_LABEL, LAUNCHER_COMPONENT } from "../kube/names.ts";
import { hasEnded } from "../kube/node-evacuation.ts";
import { isFinal, keyOf, launcherOfHotplug, vmiNameOf } from "../kube/objects.ts";
import { selectVmisOn } from "../kube/selections.ts";
import { canMigrate } from "../settings/strategy.ts";
import type { Deciding } from "../settings/time.ts";
import type { Leaving, PreflightPod } from "./facts.ts";
import type { FitNode } from "./fit.ts";
import { PREFLIGHT_MESSAGES as MESSAGES } from "./messages.ts";
import { PREFLIGHT_PODS } from "./views.ts";

const MOST_NODES = 10;

/** `Everything` stands for every VM of the node that can migrate. */
type Wanted = "Everything" | ReadonlySet<string>;

export interface Listed<T> {
  readonly items: readonly T[];
  readonly unread: readonly string[];
}

interface Around {
  readonly name: string;
  readonly nodes: readonly FitNode[];
  /** All active Evacuations of the cluster, and ended Evacuations from the node to drain. */
  readonly evacuations: readonly EvacuationFacts[];
}

export function leavingElsewhere({ name, nodes, evacuations }: Around, { facts, settings }: Deciding): Listed<Leaving> {
  const closed = new Set(nodes.filter(({ unschedulable }) => unschedulable).map((node) => node.name));
  const wanted = wantedIn(evacuations, closed, facts);
  const leaving = nodes.filter((node) => node.name !== name && wanted.has(node.name));
  const found = each(leaving.slice(0, MOST_NODES), (node) => {
    const isWanted = isIn(wanted.get(node.name) ?? new Set());
    return leavingOf(node, (vmi) => isWanted(vmi) && canMigrate(vmi, settings), facts);
  });
  const others = leaving.length - MOST_NODES;
  const unread = others > 0 ? [MESSAGES.leavingElsewhere(others)] : [];
  return { items: found.filter(({ vmis }) => vmis.length > 0), unread };
}

function isIn(wanted: Wanted) {
  return (vmi: VmiFacts) => wanted === "Everything" || wanted.has(keyOf(vmi));
}

/**
 * Returns the VMs that leave each node, keyed by the node's name. If a NodeEvacuation is paused or its node is
 * uncordoned, only VMs with an Evacuation leave.
 */
function wantedIn(
  evacuations: readonly EvacuationFacts[],
  closed: ReadonlySet<string>,
  facts: Facts,
): ReadonlyMap<string, Wanted> {
  const active = evacuations.filter((e) => isActive(e) && e.status.sourceNode !== undefined);
  const vms = Map.groupBy(active, ({ status }) => status.sourceNode ?? "");
  const byEvacuation = [...vms].map(([node, all]): [string, Wanted] => {
    return [node, new Set(all.map(({ namespace, spec }) => keyOf({ namespace, name: spec.vmiName })))];
  });
  const all = unlessNotServed(() => nodeEvacuations(facts));
  const running = all.filter((ne) => {
    const { progress, intent, nodeName } = ne.spec;
    const isWanted = progress === "Running" && intent !== "Withdrawn" && closed.has(nodeName);
    return isWanted && !hasEnded(ne) && ne.status.startTime !== undefined;
  });
  return new Map([...byEvacuation, ...running.map(({ spec }): [string, Wanted] => [spec.nodeName, "Everything"])]);
}

function leavingOf(node: FitNode, isLeaving: (vmi: VmiFacts) => boolean, facts: Facts): Leaving {
  const labels = { [COMPONENT_LABEL]: [LAUNCHER_COMPONENT, HOTPLUG_COMPONENT] };
  const [pods, here] = together(
    () => facts.readable(PREFLIGHT_PODS, { labels, fields: { "spec.nodeName": node.name } }).items,
    () => facts.readable("virtualmachineinstances", selectVmisOn(node.name)).items,
  );
  const vmis = here.filter((vmi) => !isFinal(vmi) && isLeaving(vmi));
  const names = new Set(vmis.map(keyOf));
  const isIts = (pod: PreflightPod) =>
    !isFinal(pod) && (launcherOfHotplug(pod) !== undefined || names.has(keyOf({ ...pod, name: vmiNameOf(pod) ?? "" })));
  return { node, pods: pods.filter(isIts), vmis, migrations: migrationsUnderWay(vmis, facts) };
}
