/** All real plugins, with arguments under which most pods of a small cluster are to go. */
import type { EnabledPlugin } from "../../../../shared/descheduling/cycle/policy.ts";
import { lowNodeUtilization } from "../../../../shared/descheduling/plugins/low-node-utilization.ts";
import { nodeAffinity } from "../../../../shared/descheduling/plugins/node-affinity.ts";
import { nodeTaints } from "../../../../shared/descheduling/plugins/node-taints.ts";
import type { Plugin } from "../../../../shared/descheduling/plugins/plugin.ts";
import { podLifeTime } from "../../../../shared/descheduling/plugins/pod-life-time.ts";
import { utilizationArguments } from "../../../support/descheduling/fixtures.ts";

function enabled<A>(plugin: Plugin<A>, args: A): EnabledPlugin {
  const { name, extensionPoint } = plugin;
  return { name, extensionPoint, nominate: (world) => plugin.nominate(args, world) };
}

export const REAL_PLUGINS: readonly EnabledPlugin[] = [
  enabled(
    lowNodeUtilization,
    utilizationArguments({ thresholds: { cpu: 40, pods: 20 }, targetThresholds: { cpu: 50, pods: 30 } }),
  ),
  enabled(nodeTaints, { includePreferNoSchedule: true, excludedTaints: [], includedTaints: [] }),
  enabled(nodeAffinity, { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] }),
  // Of any age.
  enabled(podLifeTime, { maxPodLifeTimeSeconds: -1 }),
];
