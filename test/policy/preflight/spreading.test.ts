/** Topology spread and volumes: examples of kube-scheduler's own tests, asked of the preflight and of the sandbox's scheduler alike. */
import { describe, expect, test } from "vitest";
import type { Node, PersistentVolume, Pod } from "../../../infra/sandbox/actors/resources.ts";
import {
  claiming,
  fitsByPreflight,
  fitsByScheduler,
  HOST,
  nodeOf,
  podOf,
  type PodTweak,
  type Spec,
  spread,
  volumeIn,
} from "./scheduling.ts";

const FOO = { foo: "" };
const BAR = { bar: "" };

/** `a b x y`, two in each zone. */
const nodes = (tweak: Record<string, Node> = {}): Node[] =>
  Object.entries({ a: "1", b: "1", x: "2", y: "2" }).map(([name, zone]) => tweak[name] ?? nodeOf(name, { zone }));
const NODES = nodes();

/** So many pods on each of these nodes. */
const pods = (counts: Record<string, number>, tweak: PodTweak = {}): Pod[] =>
  Object.entries(counts).flatMap(([node, count]) =>
    Array.from({ length: count }, (_, i) => podOf(`${node}-${i}`, {}, { labels: FOO, node, ...tweak })),
  );

const zone = (maxSkew = 1, more = {}): Spec => spread({ maxSkew, topologyKey: "zone", labels: FOO, ...more });
const host = (maxSkew = 1, more = {}): Spec => spread({ maxSkew, topologyKey: HOST, labels: FOO, ...more });
const both = (one: Spec, other: Spec): Spec => ({
  topologySpreadConstraints: [...(one.topologySpreadConstraints ?? []), ...(other.topologySpreadConstraints ?? [])],
});
const wanting = (spec: Spec): Spec => ({ ...spec, nodeSelector: FOO });
const THREE_FOO = ["a", "b", "x"].map((name) => nodeOf(name, FOO));
const TAINTED = nodeOf("y", FOO, { taints: [{ key: "k", effect: "NoSchedule" }] });
const ANY = ["a", "b", "x", "y"];

interface Where {
  readonly nodes?: readonly Node[];
  readonly pods?: readonly Pod[];
  readonly volumes?: readonly PersistentVolume[];
}
type Example = readonly [
  what: string,
  spec: Spec,
  where: Where,
  fits: readonly string[],
  labels?: Record<string, string>,
];

// prettier-ignore
const EXAMPLES: readonly Example[] = [
  // Upstream: kubernetes/kubernetes pkg/scheduler/framework/plugins/podtopologyspread/filtering_test.go
  ["3/3 by zone: anywhere",                                 zone(),                                        { pods: pods({ a: 2, b: 1, y: 3 }) },   ANY],
  ["1/2 by zone, as a node lacks the label",                zone(),                                        { nodes: nodes({ b: nodeOf("b", { zon: "1" }) }), pods: pods({ a: 1, b: 1, x: 1, y: 1 }) }, ["a"]],
  ["no node has the label",                                 spread({ maxSkew: 1, topologyKey: "rack", labels: FOO }), {},                          []],
  ["2/1/0/3 by node",                                       host(),                                        { pods: pods({ a: 2, b: 1, y: 3 }) },   ["x"]],
  ["2/1/0/3 by node, maxSkew 2",                            host(2),                                       { pods: pods({ a: 2, b: 1, y: 3 }) },   ["b", "x"]],
  ["2/1/0/3 by node, does not select itself",               host(),                                        { pods: pods({ a: 2, b: 1, y: 3 }) },   ["b", "x"], BAR],
  ["2/~1~/~0~/3: nodes that it may not use do not count",   { ...host(), affinity: onlyOn("a", "y") },     { pods: pods({ a: 2, b: 1, y: 3 }) },   ["a"]],
  ["0/~2~/0/1 by zone",                                     { ...zone(), affinity: onlyOn("a", "x", "y") }, { pods: pods({ b: 2, y: 1 }) },        ["a"]],
  ["terminating pods do not count",                         host(),                                        { nodes: NODES.slice(0, 2), pods: [...pods({ a: 1 }, { deleting: true }), ...pods({ b: 1 })] }, ["a"]],
  ["ended pods do not count",                               host(),                                        { nodes: NODES.slice(0, 2), pods: [...pods({ a: 1 }, { phase: "Succeeded" }), ...pods({ b: 1 })] }, ["a"]],
  ["pods of other namespaces do not count",                 host(),                                        { nodes: NODES.slice(0, 2), pods: [...pods({ a: 1 }, { namespace: "other" }), ...pods({ b: 1 })] }, ["a"]],
  ["2/2/1 by node, maxSkew 2, fewer than minDomains",       host(2, { minDomains: 4 }),                    { nodes: NODES.slice(0, 3), pods: pods({ a: 2, b: 2, x: 1 }) }, ["x"]],
  ["2/2/1 by node, maxSkew 2, more than minDomains",        host(2, { minDomains: 2 }),                    { nodes: NODES.slice(0, 3), pods: pods({ a: 2, b: 2, x: 1 }) }, ["a", "b", "x"]],
  ["2/1 by zone, maxSkew 2, fewer than minDomains",         zone(2, { minDomains: 3 }),                    { pods: pods({ a: 1, b: 1, y: 1 }) },   ["x", "y"]],
  ["2/1 by zone, maxSkew 2, more than minDomains",          zone(2, { minDomains: 1 }),                    { pods: pods({ a: 1, b: 1, y: 1 }) },   ANY],
  ["node affinity is honoured",                             wanting(host()),                               { nodes: [...THREE_FOO, nodeOf("y")], pods: pods({ a: 1, b: 1, y: 1 }) }, ["x"]],
  ["node affinity is ignored: an unusable node is emptiest", wanting(host(1, { nodeAffinityPolicy: "Ignore" })), { nodes: [...THREE_FOO, nodeOf("y")], pods: pods({ a: 1, b: 1, x: 1 }) }, []],
  ["taints are honoured: 1/1/1/~0~",                        host(1, { nodeTaintsPolicy: "Honor" }),        { nodes: [...THREE_FOO, TAINTED], pods: pods({ a: 1, b: 1, x: 1 }) }, ["a", "b", "x"]],
  ["taints are ignored: 1/1/1/0, and y is tainted",         host(),                                        { nodes: [...THREE_FOO, TAINTED], pods: pods({ a: 1, b: 1, x: 1 }) }, []],
  ["[3/3, 2/1/0/3] by zone and node",                       both(zone(), host()),                          { pods: pods({ a: 2, b: 1, y: 3 }) },   ["x"]],
  ["[3/4, 2/1/0/4]: no node meets both",                    both(zone(), host()),                          { pods: pods({ a: 2, b: 1, y: 4 }) },   []],
  ["[1/0, 1/0/0/1] of different selectors",                 both(zone(), host(1, { labels: BAR })),        { pods: [...pods({ a: 1 }), ...pods({ y: 1 }, { labels: BAR })] }, ["x"], { ...FOO, ...BAR }],
  ["[1/0, 0/0/1/1]: no node meets both",                    both(zone(), host(1, { labels: BAR })),        { pods: [...pods({ a: 1 }), ...pods({ x: 1, y: 1 }, { labels: BAR })] }, [], { ...FOO, ...BAR }],
  ["… does not select itself by zone",                      both(zone(), host(1, { labels: BAR })),        { pods: [...pods({ a: 1 }), ...pods({ x: 1, y: 1 }, { labels: BAR })] }, ["a", "b"], BAR],
  ["[1/1, 1/0/-/1] one node lacks a key",                   both(zone(), spread({ maxSkew: 1, topologyKey: "rack", labels: FOO })), { nodes: ["a", "b", "x", "y"].map((name, i) => nodeOf(name, { zone: i < 2 ? "1" : "2", ...(name !== "x" && { rack: name }) })), pods: pods({ a: 1, y: 1 }) }, ["b"]],
  // Upstream: the same package's common.go (matchLabelKeys), and the API's documentation of TopologySpreadConstraint
  ["matchLabelKeys: only pods of the same revision count",  host(1, { matchLabelKeys: ["rev"] }),          { nodes: NODES.slice(0, 2), pods: [...pods({ a: 3 }, { labels: { ...FOO, rev: "1" } }), ...pods({ b: 1 }, { labels: { ...FOO, rev: "2" } })] }, ["a"], { ...FOO, rev: "2" }],
  ["… a key that the pod lacks is none",                    host(1, { matchLabelKeys: ["rev"] }),          { nodes: NODES.slice(0, 2), pods: pods({ a: 1 }, { labels: { ...FOO, rev: "1" } }) }, ["b"]],
  ["no selector selects nothing",                           spread({ maxSkew: 1, topologyKey: HOST }),      { pods: pods({ a: 5 }) },               ANY],
  ["ScheduleAnyway forbids nothing",                        host(1, { whenUnsatisfiable: "ScheduleAnyway" }), { pods: pods({ a: 5 }) },             ANY],
  // Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding_test.go and binder_test.go (bound claims)
  ["all bound: a volume that every node reaches",           claiming("d"),                                 { volumes: [volumeIn("d", undefined)] }, ANY],
  ["PV node affinity",                                      claiming("d"),                                 { volumes: [volumeIn("d", ["2"])] },    ["x", "y"]],
  ["… of several zones",                                    claiming("d"),                                 { volumes: [volumeIn("d", ["1", "2"])] }, ANY],
  ["… of two volumes that no node reaches both",            claiming("d", "e"),                            { volumes: [volumeIn("d", ["1"]), volumeIn("e", ["2"])] }, []],
  ["… of a volume of another pod",                          claiming("d"),                                 { volumes: [volumeIn("e", ["2"])] },    ANY],
  ["… of a claim of another namespace",                     claiming("d"),                                 { volumes: [volumeIn("d", ["2"], "other")] }, ANY],
];

function onlyOn(...values: string[]): NonNullable<Spec["affinity"]> {
  const matchExpressions = [{ key: HOST, operator: "In", values }];
  return {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
  };
}

describe.each([
  ["the preflight", fitsByPreflight],
  ["the sandbox's scheduler", fitsByScheduler],
] as const)("%s", (_, fits) => {
  for (const [what, spec, { nodes = NODES, pods = [], volumes = [] }, expected, labels = FOO] of EXAMPLES) {
    test(what, () => {
      expect(fits(podOf("vm", spec, { labels }), nodes, pods, volumes)).toEqual(expected);
    });
  }
});
