/** Tests each rule of LowNodeUtilization: the nodes, the order of the pods, and the effect of limits. */
import { describe, expect, test } from "vitest";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import { type Arguments, lowNodeUtilization } from "../../../../shared/descheduling/plugins/low-node-utilization.ts";
import {
  evicted,
  limits,
  node,
  nominated,
  pod,
  saying,
  taint,
  toleration,
  UNEVICTABLE,
  utilizationArguments as args,
  world,
} from "../../../support/descheduling/fixtures.ts";

const five = ["p1", "p2", "p3", "p4", "p5"];
const fixed = five.map((name) => pod(name, UNEVICTABLE.daemonSet));

/** Returns pods on a node with 1000m CPU. `percents` contains the share of this CPU that each pod requests. */
const at = (name: string, percents: readonly number[]) =>
  percents.map((percent, i) => pod(`${name}-${i}`, { nodeName: name, requests: { cpu: percent * 10 } }));

const cpu = (low: number, high: number, tweak: Partial<Arguments> = {}) => {
  return args({ thresholds: { cpu: low }, targetThresholds: { cpu: high }, ...tweak });
};

describe("LowNodeUtilization", () => {
  const nodes = ["a", "b", "c", "d"].map((name) => node(name, { allocatable: { cpu: 1000, memory: 1, pods: 100 } }));
  const pods = [...at("a", [20, 20, 20, 20]), ...at("b", [20, 20, 20]), ...at("c", [30]), ...at("d", [10])];
  // prettier-ignore
  test.each([
    ["evicts from the fullest node first, until each node is at the target",  cpu(30, 50),                        ["a-0", "a-1", "b-0"]],
    ["evicts no pod of a node at its target",                                 cpu(30, 80),                        []],
    ["evicts no pod if no node is under-utilised",                            cpu(9, 50),                         []],
  ] as const)("%s", (_, given, expected) => expect(evicted(lowNodeUtilization, given, world({ nodes, pods }))).toEqual(expected));

  test("ignores the requests of ended pods, and does not evict them", () => {
    const ended = pods.map((p) => (p.nodeName === "a" ? { ...p, phase: "Succeeded" } : p));
    expect(evicted(lowNodeUtilization, cpu(30, 50), world({ nodes, pods: ended }))).toEqual(["b-0"]);
  });

  test("judges a node by any resource that is over its target", () => {
    const memory = args({ thresholds: { cpu: 30, memory: 99 }, targetThresholds: { cpu: 50, memory: 100 } });
    expect(evicted(lowNodeUtilization, memory, world({ nodes, pods }))[0]).toBe("a-0");
  });

  test("evicts no pod of an excluded namespace", () => {
    const shop = pods.map((one) => (one.name === "a-0" ? { ...one, namespace: "shop" } : one));
    const given = cpu(30, 50, { evictableNamespaces: { exclude: ["shop"] } });
    expect(evicted(lowNodeUtilization, given, world({ nodes, pods: shop }))).toEqual(["a-1", "a-2", "b-0"]);
  });

  test("evicts no more than fits on the other nodes", () => {
    const [a, b, , d] = nodes;
    const few = {
      nodes: [a, b, d].filter((n) => n !== undefined),
      pods: [...at("a", [20, 20, 20, 20, 20]), ...at("b", [20, 20, 20]), ...at("d", [20])],
    };
    // Node d can receive pods with 30% of its CPU. The second evicted pod exceeds this limit, so the plugin then stops.
    expect(evicted(lowNodeUtilization, cpu(20, 50), world(few))).toEqual(["a-0", "a-1"]);
  });
});

describe("LowNodeUtilization evicts first", () => {
  const nodes = [node("n1"), node("n2")];
  const given = args({ thresholds: { pods: 30 }, targetThresholds: { pods: 35 } });
  const order = (pods: readonly ScheduledPod[], inProgress: string[] = [], tweak: Partial<Arguments> = {}) => {
    return evicted(
      lowNodeUtilization,
      { ...given, ...tweak },
      world({ nodes, pods: [...pods, ...fixed] }, {}, inProgress),
    );
  };
  const preferStay = { annotations: { "descheduler.alpha.kubernetes.io/prefer-no-eviction": "" } };
  // prettier-ignore
  test.each([
    ["a pod without priority",                 pod("a", { priority: -5 }),                pod("b")],
    ["a pod of lower priority",                pod("a", { priority: 2 }),                 pod("b", { priority: 1 })],
    ["a BestEffort pod",                       pod("a"),                                  pod("b", { qosClass: "BestEffort" })],
    ["a pod that does not prefer to stay",     pod("a", preferStay),                      pod("b")],
    ["the pod whose name comes first",         pod("b-1"),                                pod("b")],
  ] as const)("%s", (_, later, first) => expect(order([later, first])).toEqual([first.name, later.name]));

  test("pods in progress, in the same order among themselves", () => {
    const pods = [pod("a", { priority: 9 }), pod("b", { priority: 8 }), pod("c"), pod("d")];
    expect(order(pods, ["a", "b"])).toEqual(["b", "a", "c"]);
  });

  test("pods in progress, then by the sorters of the policy, then by priority", () => {
    const pods = [
      pod("a", { priority: 9 }),
      pod("b", { createdAt: 1 }),
      pod("c", { priority: 3, createdAt: 1 }),
      pod("d"),
    ];
    const sorters = ["Oldest"] as const;
    expect(order(pods, ["a"], { sorters })).toEqual(["a", "b", "c"]);
    expect(order(pods, ["a"], { sorters, inProgressFirst: false })).toEqual(["b", "c", "d"]);
    expect(order(pods, ["a"], { inProgressFirst: false })).toEqual(["b", "d", "c"]);
  });

  const two = [taint("a"), taint("b", { effect: "PreferNoSchedule" })];
  const both = { operator: "Exists" };
  // prettier-ignore
  test.each([
    ["both taints",                                         [toleration("a", both), toleration("b", { ...both, effect: "PreferNoSchedule" })], true],
    ["one of two taints",                                   [toleration("a", both), toleration("c", both)],        false],
    ["two taints with one toleration (upstream's quirk)",   [both],                                                false],
  ] as const)("no pod, unless it tolerates the other node's taints: a pod that tolerates %s", (_, tolerations, goes) => {
    const seen = world({ nodes: [node("n1"), node("n2", { taints: two })], pods: [pod("p", { tolerations }), ...fixed] });
    expect(evicted(lowNodeUtilization, given, seen)).toEqual(goes ? ["p"] : []);
  });
});

const on = (nodeName: string) =>
  five.map((name) => pod(`${nodeName}-${name}`, { nodeName, requests: { cpu: 0, memory: nodeName === "n1" ? 2 : 1 } }));

describe("the answer to a nomination", () => {
  const nodes = [node("n1"), node("n2"), node("n3")];
  const pods = [...on("n1"), ...on("n2")];
  const given = args({ thresholds: { pods: 20 }, targetThresholds: { pods: 30 } });
  // prettier-ignore
  test.each([
    ["accepted: the plugin continues until n3 is full",           undefined,                        ["n1-p1", "n1-p2", "n2-p1"]],
    ["skipped: the plugin nominates the next pod and subtracts nothing", saying("Skipped", "n1-p1"),      ["n1-p1", "n1-p2", "n1-p3", "n2-p1"]],
    ["node limit: the plugin continues with the next node",                saying("NodeLimit", "n1-p1"),     ["n1-p1", "n2-p1", "n2-p2"]],
    ["total limit: the plugin ends",                saying("TotalLimit", "n1-p2"),    ["n1-p1", "n1-p2"]],
    ["a limit of one per node: each node continues with one pod",             limits({ perNode: 1 }),           ["n1-p1", "n1-p2", "n2-p1", "n2-p2"]],
  ] as const)("%s", (_, judge, expected) => {
    expect(nominated(lowNodeUtilization, given, world({ nodes, pods }), judge)).toEqual(expected);
  });

  test("for a pod in progress counts toward the plugin's own limit", () => {
    const seen = world({ nodes, pods: on("n1") }, {}, ["n1-p4"]);
    expect(nominated(lowNodeUtilization, { ...given, evictionLimits: { node: 1 } }, seen)).toEqual(["n1-p4"]);
  });
});
