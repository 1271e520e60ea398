/**
 * Tests the common rules of plugins that examine all pods of a node: which pods are selected, their order, and the
 * effect of each verdict.
 */
import { describe, expect, test } from "vitest";
import type { PodSelection } from "../../../../shared/descheduling/plugins/nominate.ts";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import type { Nominations, PluginWorld } from "../../../../shared/descheduling/plugins/plugin.ts";
import { nodeAffinity } from "../../../../shared/descheduling/plugins/node-affinity.ts";
import { nodeTaints } from "../../../../shared/descheduling/plugins/node-taints.ts";
import { podLifeTime } from "../../../../shared/descheduling/plugins/pod-life-time.ts";
import {
  ANYWHERE,
  type Judge,
  labelled,
  node,
  pod,
  requirement,
  saying,
  taint,
  term,
  UNEVICTABLE,
  world,
} from "../../../support/descheduling/fixtures.ts";

/** Every plugin evicts the pods from n1 and n2. The pods fit on n3. */
const tainted = { taints: [taint("t")] };
const nodes = [
  node("n2", tainted),
  node("n1", tainted),
  node("n3", { labels: { wanted: "" }, taints: [taint("new")] }),
];
const tolerations = [{ key: "new", operator: "Exists" }];
const placement = { ...ANYWHERE, required: [term(requirement("wanted", "Exists"))] };
const old = (name: string, tweak: Partial<ScheduledPod> = {}) =>
  pod(name, { placement, tolerations, createdAt: 0, ...tweak });

type Nominate = (args: PodSelection, seen: PluginWorld) => Nominations;

// prettier-ignore
const PLUGINS: readonly (readonly [name: string, nominate: Nominate, byNode: boolean])[] = [
  ["NodeTaints",   (args, seen) => nodeTaints.nominate({ ...args, includePreferNoSchedule: false, excludedTaints: [], includedTaints: [] }, seen), true],
  ["NodeAffinity", (args, seen) => nodeAffinity.nominate({ ...args, nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] }, seen), true],
  ["PodLifeTime",  (args, seen) => podLifeTime.nominate({ ...args, maxPodLifeTimeSeconds: 1 }, seen),                                   false],
];

function nominated(nominations: Nominations, judge: Judge = () => "Accepted"): readonly string[] {
  const names: string[] = [];
  for (let next = nominations.next(); next.done !== true; next = nominations.next(judge(next.value))) {
    names.push(next.value.pod.name);
  }
  return names;
}

describe.each(PLUGINS)("the plugin %s", (_, nominate, byNode) => {
  const three = [old("a", { namespace: "a" }), old("b", { labels: { app: "web" } }), old("c", UNEVICTABLE.daemonSet)];
  // prettier-ignore
  test.each<[Partial<PodSelection>, readonly string[]]>([
    [{},                                                   ["a", "b"]],
    [{ namespaces: { include: ["a"] } },                   ["a"]],
    [{ namespaces: { exclude: ["a"] } },                   ["b"]],
    [{ labelSelector: labelled({ app: "web" }) },          ["b"]],
  ])("selects pods by %j, except pods that DefaultEvictor protects", (tweak, expected) => {
    expect(nominated(nominate(tweak, world({ nodes, pods: three })))).toEqual(expected);
  });

  test("with nodeFit nominates only pods that fit elsewhere", () => {
    const seen = world({ nodes, pods: [old("a"), old("huge", { requests: { cpu: 2001 } })] }, { nodeFit: true });
    expect(nominated(nominate({}, seen))).toEqual(["a"]);
  });

  // Pods with the same age are ordered by namespace and name.
  const pods = ["c", "b", "a"].flatMap((name) => [old(`1${name}`), old(`2${name}`, { nodeName: "n2" })]);
  const inOrder = ["1a", "1b", "1c", "2a", "2b", "2c"];
  // prettier-ignore
  test.each([
    ["nominates by node, then by name",                     [],           undefined,                    inOrder],
    ["nominates pods in progress first, on each node",      ["1c", "2b"], undefined,                    byNode ? ["1c", "1a", "1b", "2b", "2a", "2c"] : ["1c", "2b", "1a", "1b", "2a", "2c"]],
    ["continues with the next pod after a skipped pod",     [],           saying("Skipped", "1a"),      inOrder],
    ["continues with the next node after a node limit",     [],           saying("NodeLimit", "1b"),    byNode ? ["1a", "1b", "2a", "2b", "2c"] : inOrder],
    ["ends after the total limit",                          [],           saying("TotalLimit", "1b"),   ["1a", "1b"]],
  ] as const)("%s", (...[, inProgress, judge, expected]) => {
    expect(nominated(nominate({}, world({ nodes, pods }, {}, [...inProgress])), judge)).toEqual(expected);
  });

  const mixed = [
    old("a", { priority: 2, requests: { memory: 1 }, createdAt: 1 }),
    old("b", { priority: 1, requests: { memory: 3 } }),
    old("c", { priority: 1, requests: { memory: 2 }, qosClass: "Guaranteed" }),
    old("d", { priority: 9, requests: { memory: 9 }, createdAt: 2 }),
  ];
  // prettier-ignore
  test.each<[string, PodSelection, readonly string[]]>([
    ["pods in progress first, then one sorter",     { sorters: ["LowestPriority"] },                                ["d", "b", "c", "a"]],
    ["pods in progress first, then two sorters",    { sorters: ["LowestPriority", "LeastMemory"] },                 ["d", "c", "b", "a"]],
    ["only the sorters",                            { sorters: ["LowestPriority"], inProgressFirst: false },        ["b", "c", "a", "d"]],
    ["by quality of service",                       { sorters: ["LowestQoS", "LowestPriority"], inProgressFirst: false }, ["b", "a", "d", "c"]],
    ["youngest first",                              { sorters: ["Youngest"], inProgressFirst: false },              ["d", "a", "b", "c"]],
    ["oldest first",                                { sorters: ["Oldest"], inProgressFirst: false },                ["b", "c", "a", "d"]],
  ])("sorts its pods: %s", (_, args, expected) => {
    expect(nominated(nominate(args, world({ nodes, pods: mixed }, {}, ["d"])))).toEqual(expected);
  });
});
