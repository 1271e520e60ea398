/** RemovePodsViolatingNodeAffinity: pods whose node no longer meets their affinity, or is no longer the one they prefer. */
import { isCompleted } from "../../policy/facts.ts";
import type { NodeAffinityArguments, NodeAffinityType } from "./arguments.ts";
import type { DeschedulerNode, DeschedulerPod, Placement } from "./facts.ts";
import { type NodeFit, nodeFit } from "./node-fit.ts";
import { isWanted, weightOf } from "../../policy/kube/node-selector.ts";
import { nominateInGroups, nominationsAmong } from "./nominate.ts";
import { oncePer } from "./once-per.ts";
import type { Nomination, Plugin, PluginWorld } from "./plugin.ts";
import { byNodeName } from "./sort.ts";

export const nodeAffinity: Plugin<NodeAffinityArguments> = {
  name: "RemovePodsViolatingNodeAffinity",
  extensionPoint: "deschedule",
  nominate: (args, world) => nominateInGroups(groups(args, world)),
};

interface Run {
  readonly args: NodeAffinityArguments;
  readonly world: PluginWorld;
  readonly fit: NodeFit;
  /** UIDs: a pod that one type has nominated is not nominated by the next. */
  readonly nominated: Set<string>;
}

/** Type by type in the order given, node by node. */
function* groups(args: NodeAffinityArguments, world: PluginWorld): Iterable<Iterable<Nomination>> {
  const nodes = world.nodes.toSorted(byNodeName);
  const run: Run = { args, world, fit: nodeFit(nodes, world), nominated: new Set() };
  for (const type of args.nodeAffinityType) {
    const violation = VIOLATIONS[type](nodes);
    for (const node of nodes) yield violators(node, violation, run);
  }
}

function* violators(node: DeschedulerNode, violation: Violation, run: Run): Iterable<Nomination> {
  const { args, world, fit, nominated } = run;
  const nominationOf = (pod: DeschedulerPod) =>
    !isCompleted(pod) && violation.isBy(pod, node) ? { pod, reason: violation.reason(node) } : undefined;
  for (const nomination of nominationsAmong(world.podsOn(node.name), { args, world, nominationOf })) {
    if (nominated.has(nomination.pod.uid) || !fit.fitsAny(nomination.pod)) continue;
    nominated.add(nomination.pod.uid);
    yield nomination;
  }
}

interface Violation {
  readonly isBy: (pod: DeschedulerPod, node: DeschedulerNode) => boolean;
  readonly reason: (node: DeschedulerNode) => string;
}

const VIOLATIONS = {
  requiredDuringSchedulingIgnoredDuringExecution: () => ({
    // The nodeSelector counts too, but only for pods that have the affinity: as upstream.
    isBy: ({ placement }, node) => placement.required !== undefined && !isWanted(placement, node),
    reason: (node) => `node ${node.name} does not meet its required node affinity`,
  }),
  preferredDuringSchedulingIgnoredDuringExecution: (nodes) => {
    const best = oncePer(
      ({ preferred }: Placement) => JSON.stringify(preferred),
      (placement) => nodes.reduce((most, node) => Math.max(most, weightOf(placement, node)), 0),
    );
    return {
      isBy: ({ placement }, node) => placement.preferred.length > 0 && best(placement) > weightOf(placement, node),
      reason: (node) => `its preferred node affinity speaks for another node than ${node.name}`,
    };
  },
} as const satisfies Record<NodeAffinityType, (nodes: readonly DeschedulerNode[]) => Violation>;
