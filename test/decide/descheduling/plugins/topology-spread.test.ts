/** Tests RemovePodsViolatingTopologySpreadConstraint: which pods the plugin evicts, and how many. */
import { describe, expect, test } from "vitest";
import { type Arguments, topologySpread } from "../../../../shared/descheduling/plugins/topology-spread.ts";
import type { ScheduledNode, ScheduledPod, SpreadConstraint } from "../../../../shared/kube/scheduled-pod.ts";
import {
  ANYWHERE,
  evicted,
  labelled,
  limits,
  node,
  nominated,
  pod,
  requirement,
  saying,
  taint,
  term,
  toleration,
  UNEVICTABLE,
  world,
} from "../../../support/descheduling/fixtures.ts";

const WEB = { app: "web" };

function args(tweak: Partial<Arguments> = {}): Arguments {
  return { constraints: ["DoNotSchedule"], topologyBalanceNodeFit: true, ...tweak };
}

function nodesOf(count: number): readonly ScheduledNode[] {
  return Array.from({ length: count }, (_, i) =>
    node(`n${i}`, { labels: { zone: `z${i}` }, allocatable: { cpu: 99_999, pods: 200 } }),
  );
}

describe("RemovePodsViolatingTopologySpreadConstraint", () => {
  const spread = (tweak: Partial<SpreadConstraint> = {}): SpreadConstraint => ({
    maxSkew: 1,
    topologyKey: "zone",
    whenUnsatisfiable: "DoNotSchedule",
    selector: labelled(WEB),
    matchLabelKeys: [],
    ...tweak,
  });
  /** Returns pods. `sizes` contains the number of pods in each zone. Each zone has one node. */
  const podsIn = (sizes: readonly number[], tweak: Partial<ScheduledPod> = {}) =>
    sizes.flatMap((size, zone) =>
      Array.from({ length: size }, (_, i) => pod(`z${zone}-${i}`, { nodeName: `n${zone}`, labels: WEB, ...tweak })),
    );
  const leaving = (
    sizes: readonly number[],
    constraint: Partial<SpreadConstraint> = {},
    tweak: Partial<Arguments> = {},
  ) => {
    const pods = podsIn(sizes, { spread: [spread(constraint)] });
    return evicted(topologySpread, args(tweak), world({ nodes: nodesOf(sizes.length), pods }));
  };

  // prettier-ignore
  test.each<[sizes: readonly number[], maxSkew: number, moves: number]>([
    [[2, 1],             1, 0],
    [[3, 1],             1, 1],
    [[2, 0],             2, 0],
    [[2, 6],             2, 1],
    [[4, 0],             1, 2],
    [[0, 1, 2],          1, 1],
    [[0, 1, 3, 5],       1, 3],
    [[2, 2, 2, 1],       1, 0],
    [[2, 5, 3, 8, 5, 7], 1, 5],
    [[0, 1, 100],        1, 66],
  ])("balances domains of %j pods with maxSkew %i in as few moves as needed: %i", (sizes, maxSkew, moves) => {
    expect(leaving(sizes, { maxSkew })).toHaveLength(moves);
  });

  test("counts ScheduleAnyway only if the arguments name it", () => {
    expect(leaving([3, 1], { whenUnsatisfiable: "ScheduleAnyway" })).toEqual([]);
    expect(leaving([3, 1], { whenUnsatisfiable: "ScheduleAnyway" }, { constraints: ["ScheduleAnyway"] })).toEqual([
      "z0-0",
    ]);
    expect(leaving([3, 1], {}, { constraints: ["ScheduleAnyway"] })).toEqual([]);
  });

  const wanted = { placement: { ...ANYWHERE, required: [term(requirement("zone", "Exists"))] } };
  const only = { placement: { ...ANYWHERE, required: [term(requirement("zone", "In", "z0"))] } };
  const own = [spread()];
  const web = (name: string, tweak: Partial<ScheduledPod> = {}) =>
    pod(name, { nodeName: "n0", labels: WEB, spread: own, ...tweak });

  // prettier-ignore
  test.each<[string, readonly ScheduledPod[], readonly string[]]>([
    ["evicts the pod of lower priority",                                           [web("a", { priority: 2 }), web("b", { priority: 1 })],                ["b"]],
    ["evicts a pod that selects its node last",                                    [web("a", wanted), web("b", { priority: 9 })],                         ["b"]],
    ["evicts no pod that DefaultEvictor protects",                                 [web("a", UNEVICTABLE.daemonSet), web("b", { priority: 9 })],          ["b"]],
    ["counts a pod that DefaultEvictor protects",                                  [web("a", UNEVICTABLE.daemonSet), web("b", { nodeName: "n1" })],       []],
    ["counts a pod without the constraint",                                        [web("a", { priority: 0 }), pod("b", { nodeName: "n0", labels: WEB, priority: -1 })],   ["b"]],
    ["ignores pods of another namespace",                                          [web("a"), web("b", { namespace: "shop" })],                           []],
    ["ignores ended pods and pods that are being deleted",                         [web("a"), web("b", { phase: "Succeeded" }), web("c", { deleting: true })], []],
    ["ignores a constraint without a selector",                                    [web("a", { spread: [] }), web("b", { spread: [] })],                  []],
    ["evicts a pod with a node selector last",                                     [web("a", { placement: { nodeSelector: { zone: "z0" } }, spread: [spread({ nodeAffinityPolicy: "Ignore" })] }), web("b", { priority: 9, spread: [spread({ nodeAffinityPolicy: "Ignore" })] })], ["b"]],
    ["evicts pods of the same version by matchLabelKeys",                          ["a", "b"].map((name) => web(name, { labels: { ...WEB, v: "1" }, spread: [spread({ matchLabelKeys: ["v"] })] })), ["a"]],
    ["ignores a key of matchLabelKeys that the pod lacks",                         ["a", "b"].map((name) => web(name, { spread: [spread({ matchLabelKeys: ["v"] })] })), ["a"]],
    ["ignores pods of another version by matchLabelKeys",                          [web("a", { labels: { ...WEB, v: "1" }, spread: [spread({ matchLabelKeys: ["v"] })] }), web("b", { labels: { ...WEB, v: "2" }, spread: [spread({ matchLabelKeys: ["v"] })] })], []],
  ])("%s", (_, pods, expected) => {
    expect(evicted(topologySpread, args(), world({ nodes: nodesOf(2), pods }))).toEqual(expected);
  });

  // prettier-ignore
  test.each<[string, Partial<SpreadConstraint>, Partial<ScheduledPod>, readonly string[]]>([
    ["ignores nodes that a pod does not select",                                    {},                                only, []],
    ["counts nodes that a pod does not select with nodeAffinityPolicy Ignore",      { nodeAffinityPolicy: "Ignore" },  only, ["z0-0"]],
    ["ignores nodes without the topology label",                                    { topologyKey: "rack" },           {},   []],
  ])("%s, wherever the pods fit", (_, constraint, tweak, expected) => {
    const pods = podsIn([2, 0], { ...tweak, spread: [spread(constraint)] });
    const seen = world({ nodes: nodesOf(2), pods });
    expect(evicted(topologySpread, args({ topologyBalanceNodeFit: false }), seen)).toEqual(expected);
  });

  test("ignores constraints of pods that the arguments do not select", () => {
    const pods = [web("a"), pod("b", { nodeName: "n0", labels: { ...WEB, tier: "x" } })];
    const seen = world({ nodes: nodesOf(2), pods });
    expect(evicted(topologySpread, args({ labelSelector: labelled({ tier: "x" }) }), seen)).toEqual([]);
  });

  test("evicts pods of the next domain if no pod of the largest domain can be evicted", () => {
    const stay = podsIn([4, 0, 0], UNEVICTABLE.daemonSet);
    const pods = [...stay, ...podsIn([0, 3, 0], { spread: own })];
    expect(evicted(topologySpread, args(), world({ nodes: nodesOf(3), pods }))).toEqual(["z1-0"]);
  });

  test("evicts no pod that fits only nodes of domains with more pods than the average", () => {
    const nodes = nodesOf(3).map((one) => (one.name === "n2" ? { ...one, allocatable: { pods: 0 } } : one));
    const seen = world({ nodes, pods: podsIn([5, 4, 0], { spread: own }) });
    expect(evicted(topologySpread, args(), seen)).toEqual([]);
  });

  test("balances each constraint of a pod", () => {
    const two = [spread(), spread({ topologyKey: "rack" })];
    const racks = ["r0", "r0", "r1"];
    const nodes = nodesOf(3).map((one, i) => ({ ...one, labels: { zone: `z${i % 2}`, rack: racks[i] ?? "" } }));
    // Zones z0 and z1 have two pods each. Rack r0 has four pods.
    const seen = world({ nodes, pods: podsIn([2, 2, 0], { spread: two }) });
    expect(evicted(topologySpread, args(), seen)).toHaveLength(2);
  });

  test("counts a tainted node, unless the constraint honors taints and the pod does not tolerate them", () => {
    const nodes = [...nodesOf(1), node("n1", { labels: { zone: "z1" }, taints: [taint("t")] })];
    const leave = (constraint: Partial<SpreadConstraint>, tweak: Partial<ScheduledPod> = {}) => {
      const pods = podsIn([2, 0], { spread: [spread(constraint)], ...tweak });
      return evicted(topologySpread, args({ topologyBalanceNodeFit: false }), world({ nodes, pods }));
    };
    expect(leave({})).toEqual(["z0-0"]);
    expect(leave({ nodeTaintsPolicy: "Honor" })).toEqual([]);
    const preferred = node("n1", { labels: { zone: "z1" }, taints: [taint("t", { effect: "PreferNoSchedule" })] });
    const honoring = podsIn([2, 0], { spread: [spread({ nodeTaintsPolicy: "Honor" })] });
    const soft = world({ nodes: [...nodesOf(1), preferred], pods: honoring });
    expect(evicted(topologySpread, args(), soft)).toEqual(["z0-0"]);
    expect(leave({ nodeTaintsPolicy: "Honor" }, { tolerations: [toleration("t", { operator: "Exists" })] })).toEqual([
      "z0-0",
    ]);
  });

  test("evicts no pod that fits no other node, unless topologyBalanceNodeFit is false", () => {
    const nodes = [...nodesOf(1), node("n1", { labels: { zone: "z1" }, allocatable: { pods: 0 } })];
    const seen = world({ nodes, pods: podsIn([2, 0], { spread: own }) });
    expect(evicted(topologySpread, args(), seen)).toEqual([]);
    expect(evicted(topologySpread, args({ topologyBalanceNodeFit: false }), seen)).toEqual(["z0-0"]);
  });

  test("counts pods that are already leaving as gone", () => {
    const seen = world({ nodes: nodesOf(2), pods: podsIn([4, 0], { spread: own }) }, {}, ["z0-3"]);
    expect(nominated(topologySpread, args(), seen)).toEqual(["z0-3", "z0-0"]);
    // The pod `large` fits on no node. The plugin counts `large` as gone, because `large` is already being evacuated.
    const pods = [web("large", { requests: { cpu: 999_999 } }), web("small")];
    expect(nominated(topologySpread, args(), world({ nodes: nodesOf(2), pods }, {}, ["large"]))).toEqual(["large"]);
  });

  test("nominates another pod after a refusal, skips a node at its limit, and ends at the total limit", () => {
    const seen = world({ nodes: nodesOf(2), pods: podsIn([3, 0], { spread: own }) });
    expect(nominated(topologySpread, args(), seen, saying("Skipped", "z0-0"))).toEqual(["z0-0", "z0-1"]);
    expect(nominated(topologySpread, args(), seen, saying("NodeLimit", "z0-0"))).toEqual(["z0-0"]);
    const many = world({ nodes: nodesOf(3), pods: podsIn([3, 3, 0], { spread: own }) });
    expect(evicted(topologySpread, args(), many, limits({ perNode: 0 }))).toEqual([]);
    expect(nominated(topologySpread, args(), many, limits({ total: 1 }))).toEqual(["z0-0", "z1-0"]);
  });

  test("counts a pod that leaves for one constraint as gone for the next constraint", () => {
    const two = [spread(), spread({ topologyKey: "rack" })];
    const nodes = nodesOf(2).map((one, i) => ({ ...one, labels: { ...one.labels, rack: `r${i}` } }));
    const seen = world({ nodes, pods: podsIn([2, 0], { spread: two }) });
    expect(nominated(topologySpread, args(), seen)).toEqual(["z0-0"]);
  });
});
