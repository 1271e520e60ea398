/** RemovePodsViolatingNodeTaints evicts pods that do not tolerate a taint of their node. */
import * as z from "zod/mini";
import type { Taint } from "../../kube/facts.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";
import { flag, listArgument, mapping, text } from "./fields.ts";
import { nominateInGroups, nominationsAmong, selection } from "./nominate.ts";
import { byNodeName } from "./sort.ts";
import type { ArgumentsOf, Nomination, Plugin, PluginWorld } from "./plugin.ts";
import { isFinal, untolerated } from "../../kube/objects.ts";
import { PLUGIN_MESSAGES as MESSAGES } from "./messages.ts";

const Arguments = z.lazy(() =>
  mapping({
    ...selection,
    includePreferNoSchedule: flag(false),
    excludedTaints: listArgument(text(MESSAGES.taint)),
    includedTaints: listArgument(text(MESSAGES.taint)),
  }).check(
    z.refine(({ excludedTaints, includedTaints }) => excludedTaints.length === 0 || includedTaints.length === 0, {
      path: ["includedTaints"],
      error: MESSAGES.oneOfBoth("excludedTaints", "includedTaints"),
    }),
  ),
);
export type Arguments = ArgumentsOf<typeof Arguments>;

export const nodeTaints: Plugin<Arguments> = {
  name: "RemovePodsViolatingNodeTaints",
  extensionPoint: "deschedule",
  arguments: Arguments,
  nominate: (args, world) =>
    nominateInGroups(world.nodes.toSorted(byNodeName).map((node) => violators(node, args, world))),
};

function violators(node: ScheduledNode, args: Arguments, world: PluginWorld): Iterable<Nomination> {
  const taints = node.taints.filter((taint) => counts(taint, args));
  if (taints.length === 0) return [];
  const nominationOf = (pod: ScheduledPod): Nomination | undefined => {
    const taint = isFinal(pod) ? undefined : untolerated(taints, pod.tolerations);
    return taint && { pod, reason: MESSAGES.notTolerated(nameOf(taint), node.name) };
  };
  return nominationsAmong(world.podsOn(node.name), { args, world, nominationOf });
}

function counts(taint: Taint, args: Arguments): boolean {
  const inScope =
    taint.effect === "NoSchedule" || (args.includePreferNoSchedule && taint.effect === "PreferNoSchedule");
  if (!inScope || isListed(taint, args.excludedTaints)) return false;
  return args.includedTaints.length === 0 || isListed(taint, args.includedTaints);
}

function isListed({ key, value }: Taint, list: readonly string[]): boolean {
  return list.includes(key) || (Boolean(value) && list.includes(`${key}=${value}`));
}

function nameOf({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ""}:${effect}`;
}
