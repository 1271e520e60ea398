/** LowNodeUtilization on any cluster, with books of our own: who is asked to leave, and whether there is room. */
import { expect, test } from "vitest";
import type { ScheduledNode, ScheduledPod } from "../../../shared/policy/kube/scheduled-pod.ts";
import { lowNodeUtilization } from "../../../shared/descheduling/plugins/low-node-utilization.ts";
import { always, run, seenOf } from "../any-cluster.ts";
import { utilizationArguments } from "../fixtures.ts";

const RESOURCES = ["cpu", "memory", "pods"] as const;
type Resource = (typeof RESOURCES)[number];

const ARGUMENTS = utilizationArguments({
  thresholds: { cpu: 40, memory: 40 },
  targetThresholds: { cpu: 50, memory: 60 },
});
/** Pods have no threshold: all of the node is room. */
const TARGET: Readonly<Record<Resource, number>> = { cpu: 50, memory: 60, pods: 100 };

function asked({ requests }: ScheduledPod, resource: Resource): number {
  return resource === "pods" ? 1 : (requests[resource] ?? 0);
}

function used(pods: Iterable<ScheduledPod>, resource: Resource): number {
  return [...pods].reduce((sum, pod) => sum + asked(pod, resource), 0);
}

function capacity({ allocatable }: ScheduledNode, resource: Resource): number {
  return allocatable[resource] ?? 0;
}

function target(node: ScheduledNode, resource: Resource): number {
  return Math.floor((TARGET[resource] * capacity(node, resource)) / 100);
}

test("pods leave only over-utilised nodes, and only while the under-utilised ones have room", () => {
  let count = 0;
  always((cluster) => {
    const stay = new Set(cluster.pods.filter(({ phase }) => phase === "Running"));
    const on = (node: ScheduledNode) => [...stay].filter(({ nodeName }) => nodeName === node.name);
    const isBelow = (node: ScheduledNode, r: Resource) => used(on(node), r) <= 0.4 * capacity(node, r);
    const under = cluster.nodes.filter((n) => !n.unschedulable && isBelow(n, "cpu") && isBelow(n, "memory"));
    const room = (r: Resource) => under.reduce((sum, n) => sum + target(n, r) - used(on(n), r), 0);
    const atFirst = RESOURCES.map(room);
    const gone: ScheduledPod[] = [];

    run(lowNodeUtilization.nominate(ARGUMENTS, seenOf(cluster)), cluster.verdicts, ({ nomination, verdict }) => {
      const source = cluster.nodes.find(({ name }) => name === nomination.pod.nodeName);
      if (source === undefined || !stay.has(nomination.pod)) throw new Error(`${nomination.pod.name} is not there`);
      expect(under).not.toContain(source);
      expect(RESOURCES.filter((r) => used(on(source), r) > target(source, r))).not.toEqual([]);
      RESOURCES.forEach((r, i) => expect(used(gone, r)).toBeLessThan(atFirst[i] ?? 0));
      if (verdict === "Accepted") gone.push(nomination.pod);
      if (verdict === "Accepted") stay.delete(nomination.pod);
      count += 1;
    });
  });
  expect(count).toBeGreaterThan(200);
});
