/**
 * Tests where the preflight places pods with topology spread constraints, and which of several nodes it chooses for a
 * pod.
 */
import { expect, test } from "vitest";
import type { Node, Pod } from "../../../infra/sandbox/index.ts";
import { NodeWithResources } from "../../../shared/kube/schemas/scheduled-pod.ts";
import { facts } from "../../support/preflight/fixtures.ts";
import { placeAll } from "../../../shared/preflight/place.ts";
import { fitsByScheduler, HOST, nodeOf, podOf, podTerm, readPod, requesting, type Spec } from "./scheduling.ts";

/** The node lifecycle controller adds this taint to a cordoned node. */
const CORDONED = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

const evenly = (tweak: object = {}): Spec => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "zone",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: { matchLabels: { app: "x" } },
      ...tweak,
    },
  ],
});
const inPool: Spec = { nodeSelector: { pool: "x" } };
const ON_B = { labels: { app: "x" }, node: "b" };

// The pod to place has a current pod on the drained node, which is in zone 1, as is node a. Node b is in zone 2, and node
// d has no zone.
// prettier-ignore
test.each<[string, Spec, there: readonly Pod[], fits: readonly string[]]>([
  ["excludes the fuller zone and nodes without a zone", evenly(),                                   [],                                                   ["b"]],
  ["allows a larger skew",                              evenly({ maxSkew: 2 }),                     [],                                                   ["a", "b"]],
  ["only prefers nodes with ScheduleAnyway",            evenly({ whenUnsatisfiable: "ScheduleAnyway" }), [],                                              ["a", "b", "d"]],
  ["counts pods of other nodes",                        evenly(),                                   [podOf("x", {}, ON_B)],                               ["a", "b"]],
  ["does not count a terminating pod",                  evenly(),                                   [podOf("x", {}, { ...ON_B, deleting: true })],        ["b"]],
  ["does not count a pod of another namespace",         evenly(),                                   [podOf("x", {}, { ...ON_B, namespace: "other" })],    ["b"]],
  ["does not count a pod with other labels",            evenly(),                                   [podOf("x", {}, { node: "b", labels: { app: "y" } })], ["b"]],
  ["does not count a pod of another revision",          evenly({ matchLabelKeys: ["rev"] }),        [podOf("x", {}, { node: "b", labels: { app: "x", rev: "1" } })], ["b"]],
  ["takes 0 as the lowest count if there are fewer zones than minDomains",               evenly({ minDomains: 3 }),                  [podOf("x", {}, ON_B)],                               []],
  ["does not count nodes with taints if it honors taints", evenly({ nodeTaintsPolicy: "Honor" }),     [],                                                   ["a", "b"]],
  ["counts only nodes that the pod selects",            { ...evenly(), ...inPool },                 [],                                                   ["a"]],
  ["counts all nodes if it ignores the pod's selector",       { ...evenly({ nodeAffinityPolicy: "Ignore" }), ...inPool }, [],                                   []],
])("topology spread %s", (_, spec, there, fits) => {
  const labels = { app: "x", rev: "2" };
  const nodes = [nodeOf("a", { zone: "1", pool: "x" }), nodeOf("b", { zone: "2" }), nodeOf("d")];
  const drained = nodeOf("drained", { zone: "1" }, { unschedulable: true, taints: [CORDONED] });
  const moving = podOf("vm", spec, { labels, node: "drained" });
  const [node, ...otherNodes] = [drained, ...nodes].map((one) => NodeWithResources.parse(one));
  if (node === undefined) throw new Error("there is no node");
  const pods = [readPod(moving)];
  const room = placeAll(pods, { ...facts(), node, otherNodes, otherPods: there.map(readPod), pods, vmis: [] }).get("vm");
  const places = fitsByScheduler(podOf("vm", spec, { labels }), [...nodes, drained], [...there, moving]);
  expect(places).toEqual(fits);
  expect(room?.nodes).toBe(fits.length);
  expect([undefined, ...fits]).toContain(room?.node);
});

const EMPTY_ON_B = ["q1", "q2"].map((name) => podOf(name, {}, { node: "b" }));
const X_ON_A = podOf("x", {}, { labels: { app: "x" }, node: "a" });
const SOFT = { taints: [{ key: "k", effect: "PreferNoSchedule" }] };
const avoidingX: Spec = {
  affinity: {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 50, podAffinityTerm: podTerm({ app: "x" }) }],
    },
  },
};
const FULLER_A = podOf("p", requesting({ cpu: "4", memory: "8Gi" }), { node: "a" });

// prettier-ignore
test.each<[string, Spec, there: readonly Pod[], best: string, tweak?: { readonly a?: Node["spec"]; readonly scoring?: "MostAllocated" }]>([
  ["with the fewest pods, if they request nothing",  {},                                         EMPTY_ON_B,               "a"],
  ["with the most free resources",                {},                                         [FULLER_A, ...EMPTY_ON_B], "b"],
  ["with the fewest free resources, if the scheduler uses MostAllocated",         {},                                         [FULLER_A, ...EMPTY_ON_B], "a", { scoring: "MostAllocated" }],
  ["without a soft taint",                        {},                                         EMPTY_ON_B,               "b", { a: SOFT }],
  ["with a soft taint that the pod tolerates",    { tolerations: [{ key: "k", operator: "Exists" }] }, EMPTY_ON_B,      "a", { a: SOFT }],
  ["without a pod that it prefers to avoid",                avoidingX,                                  [X_ON_A, ...EMPTY_ON_B],  "b"],
  ["with fewer similar pods, if its topology spread prefers nodes",                     evenly({ topologyKey: HOST, whenUnsatisfiable: "ScheduleAnyway" }), [X_ON_A, ...EMPTY_ON_B], "b"],
])("a pod goes to the node %s", (_, ...[spec, there, best, { a = {}, scoring } = {}]) => {
  const nodes = [nodeOf("drained", {}, { unschedulable: true }), nodeOf("a", {}, a), nodeOf("b")];
  const [node, ...otherNodes] = nodes.map((one) => NodeWithResources.parse(one));
  if (node === undefined) throw new Error("there is no node");
  const pods = [readPod(podOf("vm", { ...requesting({ cpu: "1", memory: "1Gi" }), ...spec }, { labels: { app: "x" }, node: "drained" }))];
  const found = placeAll(pods, { ...facts(), node, otherNodes, otherPods: there.map(readPod), pods, vmis: [], scoring });
  expect(found.get("vm")).toMatchObject({ node: best, nodes: 2 });
});
