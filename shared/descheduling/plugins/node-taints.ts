/** RemovePodsViolatingNodeTaints: pods that do not tolerate a taint that their node got after they came. */
import { isCompleted, type Taint } from "../../policy/facts.ts";
import { untolerated } from "../../policy/kube/taints.ts";
import type { NodeTaintsArguments } from "./arguments.ts";
import type { DeschedulerNode, DeschedulerPod } from "./facts.ts";
import { nominateInGroups, nominationsAmong } from "./nominate.ts";
import type { Nomination, Plugin, PluginWorld } from "./plugin.ts";
import { byNodeName } from "./sort.ts";

export const nodeTaints: Plugin<NodeTaintsArguments> = {
  name: "RemovePodsViolatingNodeTaints",
  extensionPoint: "deschedule",
  nominate: (args, world) =>
    nominateInGroups(world.nodes.toSorted(byNodeName).map((node) => violators(node, args, world))),
};

function violators(node: DeschedulerNode, args: NodeTaintsArguments, world: PluginWorld): Iterable<Nomination> {
  const taints = node.taints.filter((taint) => counts(taint, args));
  if (taints.length === 0) return [];
  const nominationOf = (pod: DeschedulerPod): Nomination | undefined => {
    const taint = isCompleted(pod) ? undefined : untolerated(taints, pod.tolerations);
    return taint && { pod, reason: `it does not tolerate taint ${nameOf(taint)} of node ${node.name}` };
  };
  return nominationsAmong(world.podsOn(node.name), { args, world, nominationOf });
}

function counts(taint: Taint, args: NodeTaintsArguments): boolean {
  const inScope =
    taint.effect === "NoSchedule" || (args.includePreferNoSchedule && taint.effect === "PreferNoSchedule");
  if (!inScope || isListed(taint, args.excludedTaints)) return false;
  return args.includedTaints.length === 0 || isListed(taint, args.includedTaints);
}

/** By its key, or by key and value. */
function isListed({ key, value }: Taint, list: readonly string[]): boolean {
  return list.includes(key) || (Boolean(value) && list.includes(`${key}=${value}`));
}

function nameOf({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ""}:${effect}`;
}
