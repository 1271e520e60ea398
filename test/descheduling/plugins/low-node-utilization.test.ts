/** LowNodeUtilization: upstream's numbers for usage by requests, with NodeFit as there. */
import { describe, expect, test } from "vitest";
import type { ScheduledPod } from "../../../shared/kube/scheduled-pod.ts";
import { lowNodeUtilization } from "../../../shared/descheduling/plugins/low-node-utilization.ts";
import { evicted, node, pod, UNEVICTABLE, utilizationArguments as args, world } from "../fixtures.ts";

const CAPACITY = { cpu: 4000, memory: 3000, pods: 10 };
const N1 = node("n1", { allocatable: { ...CAPACITY, pods: 9 } });
const N2 = node("n2", { allocatable: CAPACITY });
const N3 = node("n3", { allocatable: CAPACITY, unschedulable: true });

function asking(cpu: number, tweak: Partial<ScheduledPod> = {}): (name: string) => ScheduledPod {
  return (name) => pod(name, { requests: { cpu, memory: 0 }, ...tweak });
}

const five = ["p1", "p2", "p3", "p4", "p5"];

/** Three pods that may not be evicted, 400m each, beside the others on n1. */
function fixed(requests = { cpu: 400, memory: 0 }): readonly ScheduledPod[] {
  const { daemonSet, mirror, critical } = UNEVICTABLE;
  return [
    pod("p6", { requests, ...daemonSet }),
    pod("p7", { requests, ...mirror }),
    pod("p8", { requests, ...critical }),
  ];
}

const p9 = asking(400, { nodeName: "n2" })("p9");

/** n1 full of 400m pods, one of them on n2. */
const FULL = { nodes: [N1, N2, N3], pods: [...five.map(asking(400)), ...fixed(), p9] };

const GPU = "example.com/gpu";
const gpus = { ...CAPACITY, [GPU]: 8 };
const ofGpu = { thresholds: { pods: 30, [GPU]: 30 }, targetThresholds: { pods: 50, [GPU]: 50 } };
const withGpu = { requests: { cpu: 0, memory: 0, [GPU]: 1 } };

describe("upstream's numbers", () => {
  // prettier-ignore
  test.each([
    ["no evictable pods",                                      args(), { ...FULL, pods: [...fixed(), ...["p1", "p2", "p3"].map(asking(400, UNEVICTABLE.daemonSet)), p9] }, 0],
    ["without priorities",                                     args(), FULL,                                                                 4],
    ["with a node eviction limit",                             args({ evictionLimits: { node: 2 } }), FULL,                                   2],
    ["excluding the pods' namespace",                          args({ evictableNamespaces: { exclude: ["namespace1"] } }),
      { ...FULL, pods: [...five.map(asking(400, { namespace: "namespace1" })), ...fixed(), p9] },                                            0],
    ["the only other node is cordoned",                        args(), { nodes: [N1, node("n2", { allocatable: CAPACITY, unschedulable: true })], pods: [...five.map(asking(400)), ...fixed()] }, 0],
    ["an extended resource",                                   args(ofGpu),
      { nodes: [node("n1", { allocatable: { ...gpus, pods: 9 } }), node("n2", { allocatable: gpus }), N3],
        pods: [...[...five, "p6"].map((name) => pod(name, withGpu)), pod("p7", { ...withGpu, ...UNEVICTABLE.mirror }),
               pod("p8", { ...withGpu, ...UNEVICTABLE.critical }), pod("p9", { ...withGpu, nodeName: "n2" })] },                                 3],
    ["an extended resource that the other nodes do not have",  args(ofGpu),
      { nodes: [node("n1", { allocatable: { ...gpus, pods: 9 } }), N2, N3], pods: [pod("p1", withGpu), pod("p9", { nodeName: "n2" })] },        0],
  ] as const)("%s", (_, given, cluster, expected) => {
    expect(evicted(lowNodeUtilization, given, world(cluster, { nodeFit: true }))).toHaveLength(expected);
  });

  test("with priorities: the low one first", () => {
    const pods = [
      ...five.slice(0, 4).map(asking(400, { priority: 10_000 })),
      asking(400, { priority: 0 })("p5"),
      ...fixed(),
      p9,
    ];
    const seen = world({ ...FULL, pods }, { nodeFit: true });
    expect(evicted(lowNodeUtilization, args(), seen)).toEqual(["p5", "p1", "p2", "p3"]);
  });

  test("best-effort pods only", () => {
    const pods = [
      ...five.map((name) => pod(name, { qosClass: name === "p3" ? "Burstable" : "BestEffort", requests: {} })),
      ...fixed(),
      p9,
    ];
    // Best-effort pods ask for nothing, so it is the number of pods that is too high.
    const seen = world({ ...FULL, pods }, { nodeFit: true });
    expect(evicted(lowNodeUtilization, args(), seen)).toEqual(["p1", "p2", "p4", "p5"]);
  });
});
