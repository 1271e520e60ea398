/** RemovePodsViolatingNodeAffinity evicts pods whose node no longer matches their required node affinity. */
import * as z from "zod/mini";
import { isFinal, isWanted } from "../../kube/objects.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";
import { mapping } from "./fields.ts";
import { nodeFit } from "./node-fit.ts";
import { nominateInGroups, nominationsAmong, selection } from "./nominate.ts";
import { byNodeName } from "./sort.ts";
import type { ArgumentsOf, Nomination, Plugin, PluginWorld } from "./plugin.ts";
import { PLUGIN_MESSAGES as MESSAGES } from "./messages.ts";

const TYPE = "requiredDuringSchedulingIgnoredDuringExecution";

const Arguments = z.lazy(() =>
  mapping({
    ...selection,
    nodeAffinityType: z
      .array(z.literal(TYPE, MESSAGES.or([TYPE])), MESSAGES.list)
      .check(z.minLength(1, MESSAGES.atLeastOneType)),
  }),
);
export type Arguments = ArgumentsOf<typeof Arguments>;

export const nodeAffinity: Plugin<Arguments> = {
  name: "RemovePodsViolatingNodeAffinity",
  extensionPoint: "deschedule",
  arguments: Arguments,
  nominate: (args, world) => {
    const nodes = world.nodes.toSorted(byNodeName);
    const { fitsAny } = nodeFit(nodes, world);
    return nominateInGroups(nodes.map((node) => fitting(violators(node, args, world), fitsAny)));
  },
};

function violators(node: ScheduledNode, args: Arguments, world: PluginWorld): Iterable<Nomination> {
  const reason = MESSAGES.nodeAffinity(node.name);
  // Like upstream, ignores the nodeSelector of pods without a required affinity.
  const nominationOf = (pod: ScheduledPod) =>
    !isFinal(pod) && pod.placement.required !== undefined && !isWanted(pod.placement, node)
      ? { pod, reason }
      : undefined;
  return nominationsAmong(world.podsOn(node.name), { args, world, nominationOf });
}

function* fitting(violators: Iterable<Nomination>, fits: (pod: ScheduledPod) => boolean): Iterable<Nomination> {
  for (const nomination of violators) if (fits(nomination.pod)) yield nomination;
}
