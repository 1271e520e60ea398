/**
 * RemovePodsViolatingNodeAffinity: pods whose node has ceased to be one they ask for, or is no longer the one they like best.
 * Owns: when a pod's node affinity speaks for another node. Does not own: how terms match (node-selector.ts).
 */
import { isCompleted } from "../../policy/facts.ts";
import type { NodeAffinityArguments, NodeAffinityType } from "./arguments.ts";
import type { DeschedulerNode, DeschedulerPod, Placement } from "./facts.ts";
import { type NodeFit, nodeFit } from "./node-fit.ts";
import { isWanted, weightOf } from "./node-selector.ts";
import { nominateInGroups } from "./nomination-groups.ts";
import { oncePer } from "./once-per.ts";
import type { Nomination, Plugin, PluginWorld } from "./plugin.ts";
import { isSelected } from "./pod-selection.ts";
import { byNodeName, podOrder } from "./sort.ts";

export const nodeAffinity: Plugin<NodeAffinityArguments> = {
  name: "RemovePodsViolatingNodeAffinity",
  extensionPoint: "deschedule",
  nominate: (args, world) => nominateInGroups(groups(args, world)),
};

interface Run {
  readonly args: NodeAffinityArguments;
  readonly world: PluginWorld;
  readonly fit: NodeFit;
  /** UIDs: whom the first type has nominated, the second does not again. */
  readonly nominated: Set<string>;
}

/** Type by type in the order given, node by node. */
function* groups(args: NodeAffinityArguments, world: PluginWorld): Iterable<Iterable<Nomination>> {
  const nodes = world.nodes.toSorted(byNodeName);
  const run: Run = { args, world, fit: nodeFit(nodes, world), nominated: new Set() };
  for (const type of args.nodeAffinityType) {
    const rule = RULES[type](nodes);
    for (const node of nodes) yield violators(node, rule, run);
  }
}

function* violators(node: DeschedulerNode, rule: Rule, run: Run): Iterable<Nomination> {
  const { args, world, fit, nominated } = run;
  const pods = world.podsOn(node.name).filter((pod) => !isCompleted(pod) && rule.isViolated(pod, node));
  const mayGo = pods.filter((pod) => isSelected(args, pod) && world.evictor.filter(pod));
  for (const pod of mayGo.toSorted(podOrder(args, world))) {
    if (nominated.has(pod.uid) || !world.evictor.preEvictionFilter(pod) || !fit.fitsAny(pod)) continue;
    nominated.add(pod.uid);
    yield { pod, reason: rule.reason(node) };
  }
}

interface Rule {
  readonly isViolated: (pod: DeschedulerPod, node: DeschedulerNode) => boolean;
  readonly reason: (node: DeschedulerNode) => string;
}

const RULES = {
  requiredDuringSchedulingIgnoredDuringExecution: () => ({
    // The nodeSelector counts too, but only for pods that have the affinity: as upstream.
    isViolated: ({ placement }, node) => placement.required !== undefined && !isWanted(placement, node),
    reason: (node) => `node ${node.name} does not meet its required node affinity`,
  }),
  preferredDuringSchedulingIgnoredDuringExecution: (nodes) => {
    const best = oncePer(
      ({ preferred }: Placement) => JSON.stringify(preferred),
      (placement) => nodes.reduce((most, node) => Math.max(most, weightOf(placement, node)), 0),
    );
    return {
      isViolated: ({ placement }, node) =>
        placement.preferred.length > 0 && best(placement) > weightOf(placement, node),
      reason: (node) => `its preferred node affinity speaks for another node than ${node.name}`,
    };
  },
} as const satisfies Record<NodeAffinityType, (nodes: readonly DeschedulerNode[]) => Rule>;
