/** The plugins on any cluster, whatever the verdicts: no pod twice, no protected pod, the same result every time. */
import { describe, expect, test } from "vitest";
import type { ScheduledPod } from "../../../shared/kube/scheduled-pod.ts";
import { lowNodeUtilization } from "../../../shared/descheduling/plugins/low-node-utilization.ts";
import { nodeAffinity } from "../../../shared/descheduling/plugins/node-affinity.ts";
import { nodeTaints } from "../../../shared/descheduling/plugins/node-taints.ts";
import type { Nominations, PluginWorld } from "../../../shared/descheduling/plugins/plugin.ts";
import { podLifeTime } from "../../../shared/descheduling/plugins/pod-life-time.ts";
import { always, run, seenOf } from "../any-cluster.ts";
import { utilizationArguments } from "../fixtures.ts";

type Nominate = (seen: PluginWorld) => Nominations;

function byNode({ nodeName }: ScheduledPod): string {
  return nodeName;
}

/** Whose nominations belong together: the order holds among them. */
type GroupOf = (pod: ScheduledPod) => string;

// prettier-ignore
const PLUGINS: readonly (readonly [string, Nominate, GroupOf])[] = [
  ["LowNodeUtilization",
    (seen) => lowNodeUtilization.nominate(utilizationArguments({ thresholds: { cpu: 40 }, targetThresholds: { cpu: 50 } }), seen), byNode],
  ["LowNodeUtilization by deviation",
    (seen) => lowNodeUtilization.nominate(utilizationArguments({ useDeviationThresholds: true, thresholds: { pods: 3 }, targetThresholds: { pods: 3 } }), seen), byNode],
  ["RemovePodsViolatingNodeTaints",
    (seen) => nodeTaints.nominate({ includePreferNoSchedule: true, excludedTaints: [], includedTaints: [] }, seen), byNode],
  ["RemovePodsViolatingNodeAffinity",
    (seen) => nodeAffinity.nominate({ nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"] }, seen),
    (pod) => `${pod.nodeName} ${pod.placement.required !== undefined}`],
  ["PodLifeTime",
    (seen) => podLifeTime.nominate({ maxPodLifeTimeSeconds: 600, states: [], includingInitContainers: false }, seen),
    () => "all"],
];

describe.each(PLUGINS)("%s", (_, nominate, groupOf) => {
  test("nominates no pod twice, no protected pod, and nothing after the total limit", () => {
    let count = 0;
    always((cluster) => {
      const seen = seenOf(cluster);
      const outcomes = run(nominate(seen), cluster.verdicts);
      const pods = outcomes.map(({ nomination }) => nomination.pod);
      expect(new Set(pods).size).toBe(pods.length);
      for (const p of pods) expect([seen.evictor.filter(p), seen.evictor.preEvictionFilter(p)]).toEqual([true, true]);
      expect(outcomes.slice(0, -1).map(({ verdict }) => verdict)).not.toContain("TotalLimit");
      count += pods.length;
    });
    expect(count).toBeGreaterThan(200);
  });

  test("does not depend on the order in which nodes and pods were read", () => {
    always((cluster) => {
      const shuffled = { ...cluster, nodes: cluster.nodes.toReversed(), pods: cluster.pods.toReversed() };
      const [first, second] = [cluster, shuffled].map((c) => run(nominate(seenOf(c)), c.verdicts));
      expect(second).toEqual(first);
    });
  });

  test("those in progress come first", () => {
    let mixed = 0;
    always((cluster) => {
      const pods = run(nominate(seenOf(cluster)), ["Accepted"]).map(({ nomination }) => nomination.pod);
      for (const group of Map.groupBy(pods, groupOf).values()) {
        const isFirst = group.map((p) => cluster.inProgress.includes(p.name));
        expect(isFirst).toEqual(isFirst.toSorted((a, b) => Number(b) - Number(a)));
        if (new Set(isFirst).size > 1) mixed += 1;
      }
    });
    expect(mixed).toBeGreaterThan(10);
  });
});
