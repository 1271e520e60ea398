/**
 * RemovePodsViolatingInterPodAntiAffinity and RemovePodsViolatingTopologySpreadConstraint: which pods they evict, and
 * how many.
 */
import { describe, expect, test } from "vitest";
import { antiAffinity } from "../../../../shared/descheduling/plugins/anti-affinity.ts";
import { type Arguments, topologySpread } from "../../../../shared/descheduling/plugins/topology-spread.ts";
import type { PodTerm, ScheduledNode, ScheduledPod, SpreadConstraint } from "../../../../shared/kube/scheduled-pod.ts";
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

function zoned(name: string, zone: string): ScheduledNode {
  return node(name, { labels: { zone, host: name } });
}

function args(tweak: Partial<Arguments> = {}): Arguments {
  return { constraints: ["DoNotSchedule"], topologyBalanceNodeFit: true, ...tweak };
}

/** Returns nodes, each in a zone of its own. */
function nodesOf(count: number): readonly ScheduledNode[] {
  return Array.from({ length: count }, (_, i) =>
    node(`n${i}`, { labels: { zone: `z${i}` }, allocatable: { cpu: 99_999, pods: 200 } }),
  );
}

describe("RemovePodsViolatingInterPodAntiAffinity", () => {
  const nodes = [zoned("n1", "a"), zoned("n2", "a"), zoned("n3", "b")];
  const apart = (topologyKey: string, more: Partial<PodTerm> = {}): Partial<ScheduledPod> => ({
    labels: WEB,
    antiAffinity: [{ topologyKey, namespaces: [], selector: labelled(WEB), ...more }],
  });
  const web = (name: string, tweak: Partial<ScheduledPod> = {}) => pod(name, { labels: WEB, ...tweak });
  const vm = { "kubevirt.io/created-by": "vmi" };

  // prettier-ignore
  test.each<[string, readonly ScheduledPod[], readonly string[]]>([
    ["evicts one of two pods that exclude each other",                [pod("a", apart("host")), pod("b", apart("host"))],                                   ["a"]],
    ["evicts two of three pods that exclude each other",              [pod("a", apart("host")), pod("b", apart("host")), pod("c", apart("host"))],          ["a", "b"]],
    ["evicts the pod of lower priority",                              [pod("a", { ...apart("host"), priority: 1 }), pod("b", apart("host"))],               ["b"]],
    ["evicts only the pod that has the term",                         [web("a"), pod("b", apart("host"))],                                                  ["b"]],
    ["evicts a pod with a neighbour on another node of the domain",   [pod("a", apart("zone")), web("b", { nodeName: "n2" })],                              ["a"]],
    ["evicts no pod whose neighbour is in another domain",            [pod("a", apart("zone")), web("b", { nodeName: "n3" })],                              []],
    ["evicts no pod by a topology label that its node lacks",         [pod("a", apart("rack")), web("b")],                                                  []],
    ["evicts no pod whose neighbour is in another namespace",         [pod("a", apart("host")), web("b", { namespace: "shop" })],                           []],
    ["evicts a pod whose neighbour is in a namespace of the term",    [pod("a", apart("host", { namespaces: ["shop"] })), web("b", { namespace: "shop" })], ["a"]],
    ["evicts no pod whose neighbour the term does not select",        [pod("a", apart("host")), web("b", { labels: { app: "db" } })],                       []],
    ["evicts no pod by a term without a selector",                    [pod("a", { ...apart("host"), antiAffinity: [{ topologyKey: "host", namespaces: [] }] }), web("b")], []],
    ["evicts no pod whose neighbour has ended or is being deleted",   [pod("a", apart("host")), web("b", { phase: "Failed" }), web("c", { deleting: true })], []],
    ["evicts the neighbour of a pod that DefaultEvictor protects",    [pod("a", { ...apart("host"), ...UNEVICTABLE.daemonSet }), pod("b", apart("host"))],  ["b"]],
    ["evicts no VM beside the target of its own migration",           [pod("a", { ...apart("zone"), labels: { ...WEB, ...vm } }), web("b", { nodeName: "n2", labels: { ...WEB, ...vm } })], []],
    ["evicts a VM beside another VM",                                 [pod("a", { ...apart("zone"), labels: { ...WEB, ...vm } }), web("b", { nodeName: "n2", labels: { ...WEB, "kubevirt.io/created-by": "other" } })], ["a"]],
  ])("%s", (_, pods, expected) => {
    expect(evicted(antiAffinity, {}, world({ nodes, pods }))).toEqual(expected);
  });

  const both = [pod("a", apart("host")), pod("b", apart("host"))];

  test("counts a pod that is already leaving, and evicts no other, in any order", () => {
    for (const args of [{}, { inProgressFirst: false }])
      expect(nominated(antiAffinity, args, world({ nodes, pods: both }, {}, ["b"]))).toEqual(["b"]);
  });

  test("evicts another pod if one was refused", () => {
    expect(nominated(antiAffinity, {}, world({ nodes, pods: both }), saying("Skipped", "a"))).toEqual(["a", "b"]);
  });

  test("applies its arguments to pods and their neighbours", () => {
    const seen = world({ nodes, pods: [pod("a", apart("host")), web("b", { labels: { ...WEB, tier: "x" } })] });
    expect(evicted(antiAffinity, { labelSelector: labelled({ tier: "x" }) }, seen)).toEqual([]);
    expect(evicted(antiAffinity, { namespaces: { exclude: ["default"] } }, seen)).toEqual([]);
  });

  test("skips the rest of a node at the node's limit, and ends at the total limit", () => {
    const pods = ["n1", "n2"].flatMap((nodeName) =>
      ["a", "b", "c"].map((name) => pod(`${nodeName}-${name}`, { ...apart("host"), nodeName })),
    );
    const seen = world({ nodes, pods });
    expect(evicted(antiAffinity, {}, seen, limits({ perNode: 1 }))).toEqual(["n1-a", "n2-a"]);
    expect(nominated(antiAffinity, {}, seen, limits({ total: 1 }))).toEqual(["n1-a", "n1-b"]);
  });
});

describe("RemovePodsViolatingTopologySpreadConstraint", () => {
  const spread = (tweak: Partial<SpreadConstraint> = {}): SpreadConstraint => ({
    maxSkew: 1,
    topologyKey: "zone",
    whenUnsatisfiable: "DoNotSchedule",
    selector: labelled(WEB),
    matchLabelKeys: [],
    ...tweak,
  });
  /** Returns this many pods in each zone, one node each. */
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
    ["ignores nodes that a pod does not select",                                   [web("a", only), web("b", only)],                                      []],
    ["counts nodes that a pod does not select with nodeAffinityPolicy Ignore",     [web("a", { ...only, spread: [spread({ nodeAffinityPolicy: "Ignore" })] }), web("b", { spread: [spread({ nodeAffinityPolicy: "Ignore" })] })], ["b"]],
    ["ignores pods of another version by matchLabelKeys",                          [web("a", { labels: { ...WEB, v: "1" }, spread: [spread({ matchLabelKeys: ["v"] })] }), web("b", { labels: { ...WEB, v: "2" }, spread: [spread({ matchLabelKeys: ["v"] })] })], []],
  ])("%s", (_, pods, expected) => {
    expect(evicted(topologySpread, args(), world({ nodes: nodesOf(2), pods }))).toEqual(expected);
  });

  test("counts a tainted node, unless the constraint honors taints and the pod does not tolerate them", () => {
    const nodes = [...nodesOf(1), node("n1", { labels: { zone: "z1" }, taints: [taint("t")] })];
    const leave = (constraint: Partial<SpreadConstraint>, tweak: Partial<ScheduledPod> = {}) => {
      const pods = podsIn([2, 0], { spread: [spread(constraint)], ...tweak });
      return evicted(topologySpread, args({ topologyBalanceNodeFit: false }), world({ nodes, pods }));
    };
    expect(leave({})).toEqual(["z0-0"]);
    expect(leave({ nodeTaintsPolicy: "Honor" })).toEqual([]);
    expect(leave({ nodeTaintsPolicy: "Honor" }, { tolerations: [toleration("t", { operator: "Exists" })] })).toEqual([
      "z0-0",
    ]);
  });

  test("keeps a pod that fits no other node, unless topologyBalanceNodeFit is false", () => {
    const nodes = [...nodesOf(1), node("n1", { labels: { zone: "z1" }, allocatable: { pods: 0 } })];
    const seen = world({ nodes, pods: podsIn([2, 0], { spread: own }) });
    expect(evicted(topologySpread, args(), seen)).toEqual([]);
    expect(evicted(topologySpread, args({ topologyBalanceNodeFit: false }), seen)).toEqual(["z0-0"]);
  });

  test("counts pods that are already leaving as gone", () => {
    const seen = world({ nodes: nodesOf(2), pods: podsIn([4, 0], { spread: own }) }, {}, ["z0-3"]);
    expect(nominated(topologySpread, args(), seen)).toEqual(["z0-3", "z0-0"]);
    // The leaving pod already has its place elsewhere.
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

  test("does not count a pod for the next constraint if it leaves for one", () => {
    const two = [spread(), spread({ topologyKey: "rack" })];
    const nodes = nodesOf(2).map((one, i) => ({ ...one, labels: { ...one.labels, rack: `r${i}` } }));
    const seen = world({ nodes, pods: podsIn([2, 0], { spread: two }) });
    expect(nominated(topologySpread, args(), seen)).toEqual(["z0-0"]);
  });
});
