/** RemovePodsViolatingNodeAffinity: pods whose node no longer meets their affinity, or is no longer the one they prefer. */
import * as z from "zod/mini";
import { isCompleted } from "../../kube/facts.ts";
import { isWanted, weightOf } from "../../kube/node-selector.ts";
import type { Placement } from "../../kube/placement.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";
import { mapping } from "./fields.ts";
import { nodeFit } from "./node-fit.ts";
import { byNodeName, nominateInGroups, nominationsAmong, oncePer, selection } from "./nominate.ts";
import type { ArgumentsOf, Nomination, Plugin, PluginWorld } from "./plugin.ts";

const TYPES = [
  "requiredDuringSchedulingIgnoredDuringExecution",
  "preferredDuringSchedulingIgnoredDuringExecution",
] as const;
const TYPE = `expected ${TYPES.join(" or ")}`;

const Arguments = z.lazy(() =>
  mapping({
    ...selection,
    nodeAffinityType: z
      .array(z.enum(TYPES, TYPE), "expected a list")
      .check(z.minLength(1, "expected at least one type")),
  }),
);
export type Arguments = ArgumentsOf<typeof Arguments>;

export const nodeAffinity: Plugin<Arguments> = {
  name: "RemovePodsViolatingNodeAffinity",
  extensionPoint: "deschedule",
  arguments: Arguments,
  nominate: (args, world) => nominateInGroups(groups(args, world)),
};

/** Type by type in the order given, node by node. */
function* groups(args: Arguments, world: PluginWorld): Iterable<Iterable<Nomination>> {
  const nodes = world.nodes.toSorted(byNodeName);
  const fit = nodeFit(nodes, world);
  // A pod that one type has nominated is not nominated by the next.
  const nominated = new Set<ScheduledPod>();
  const fitting = function* (violators: Iterable<Nomination>) {
    for (const nomination of violators) {
      if (nominated.has(nomination.pod) || !fit.fitsAny(nomination.pod)) continue;
      nominated.add(nomination.pod);
      yield nomination;
    }
  };
  for (const type of args.nodeAffinityType) {
    const violation = VIOLATIONS[type](nodes);
    for (const node of nodes) {
      const nominationOf = (pod: ScheduledPod) =>
        !isCompleted(pod) && violation.isBy(pod, node) ? { pod, reason: violation.reason(node) } : undefined;
      yield fitting(nominationsAmong(world.podsOn(node.name), { args, world, nominationOf }));
    }
  }
}

interface Violation {
  readonly isBy: (pod: ScheduledPod, node: ScheduledNode) => boolean;
  readonly reason: (node: ScheduledNode) => string;
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
} as const satisfies Record<(typeof TYPES)[number], (nodes: readonly ScheduledNode[]) => Violation>;
