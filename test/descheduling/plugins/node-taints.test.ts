/** RemovePodsViolatingNodeTaints: upstream's cases, whose names say what they prove, and what verdicts mean. */
import { describe, expect, test } from "vitest";
import type { DefaultEvictorArguments, NodeTaintsArguments } from "../../../shared/descheduling/plugins/arguments.ts";
import type { DeschedulerNode, DeschedulerPod } from "../../../shared/descheduling/plugins/facts.ts";
import { nodeTaints } from "../../../shared/descheduling/plugins/node-taints.ts";
import {
  ANYWHERE,
  drive,
  evicted,
  labelled,
  limits,
  node,
  nominated,
  pod,
  saying,
  taint,
  toleration,
  UNEVICTABLE,
  world,
} from "../fixtures.ts";

function args(tweak: Partial<NodeTaintsArguments> = {}): NodeTaintsArguments {
  return { sort: true, includePreferNoSchedule: false, excludedTaints: [], includedTaints: [], ...tweak };
}

const TAINT = taint("testTaint1", { value: "test1" });
const OTHER = taint("testingTaint1", { value: "testing1" });
const SOFT = taint("testTaint1", { value: "test1", effect: "PreferNoSchedule" });
const N1 = node("n1", { taints: [TAINT] });
const N2 = node("n2", { taints: [OTHER] });
const SOFT_N1 = node("n1", { taints: [SOFT] });

const tolerant = { tolerations: [toleration("testTaint1", { value: "test1" })] };
const p1 = pod("p1", tolerant);
const p2 = pod("p2");
const p3 = pod("p3", tolerant);
const p4 = pod("p4", { tolerations: [toleration("testTaintX", { value: "testX" })] });
const [p5, p6] = [pod("p5"), pod("p6")];
const onN2 = { nodeName: "n2" };
const p7 = pod("p7", { ...onN2, ...UNEVICTABLE.critical });
const p8 = pod("p8", { ...onN2, ...UNEVICTABLE.daemonSet });
const p9 = pod("p9", { ...onN2, localStorage: true });
const p10 = pod("p10", { ...onN2, ...UNEVICTABLE.mirror });
const p11 = pod("p11", onN2);
const west = pod("p12", { placement: { ...ANYWHERE, nodeSelector: { datacenter: "west" } } });

const noLocalStorage = { protections: ["SystemCriticalPods", "FailedBarePods", "DaemonSetPods"] } as const;
const noCritical = { protections: ["PodsWithLocalStorage", "FailedBarePods", "DaemonSetPods"] } as const;
const nodeFit = { nodeFit: true };

interface Case {
  readonly args?: Partial<NodeTaintsArguments>;
  readonly evictor?: Partial<DefaultEvictorArguments>;
  readonly limits?: Parameters<typeof limits>[0];
}

// prettier-ignore
const rows: readonly (readonly [string, readonly DeschedulerNode[], readonly DeschedulerPod[], Case, readonly string[]])[] = [
  // what                                            nodes        pods                 how                                                   who goes
  ["who does not tolerate it",                       [N1],        [p1, p2, p3],        {},                                                   ["p2"]],
  ["who tolerates something else",                   [N1],        [p1, p3, p4],        {},                                                   ["p4"]],
  ["the limit of all before the node's",             [N1],        [p1, p5, p6],        { limits: { perNode: 2, total: 1 } },          ["p5"]],
  ["the node's limit",                               [N1],        [p1, p5, p6],        { limits: { perNode: 1 } },                    ["p5"]],
  ["the namespace's limit",                          [N1],        [p1, p5, p6],        { limits: { perNamespace: 1 } },               ["p5"]],
  ["critical, daemon, stateful and mirror pods",     [N2],        [p7, p8, p9, p10],   {},                                                   []],
  ["local storage, if allowed",                      [N2],        [p7, p8, p9, p10],   { evictor: noLocalStorage },                          ["p9"]],
  ["an ordinary pod beside protected ones",          [N2],        [p7, p8, p10, p11],  {},                                                   ["p11"]],
  ["critical pods, if allowed",                      [N1, N2],    [p2, p7, p9, p10],   { evictor: noCritical },                              ["p2", "p7"]],
  ["nodeFit: no other node is tolerated either",     [N1, N2],    [p1, p2, p3],        { evictor: nodeFit },                                 []],
  ["nodeFit: no other node is selected",             [N1, node("n3", { labels: { datacenter: "east" } })], [p1, west], { evictor: nodeFit },  []],
  ["nodeFit: the other node is cordoned",            [N1, node("n4", { unschedulable: true })], [p1, p2, p3], { evictor: nodeFit },          []],
  ["nodeFit: the other node is too small",           [N1, node("n6", { allocatable: { cpu: 1, memory: 1, pods: 1 } })], [p2], { evictor: nodeFit }, []],
  ["nodeFit: the other node will do",                [N1, node("n4")], [p2],           { evictor: nodeFit },                                 ["p2"]],
  ["PreferNoSchedule, not asked for",                [SOFT_N1],   [p2],                {},                                                   []],
  ["PreferNoSchedule, asked for",                    [SOFT_N1],   [p2],                { args: { includePreferNoSchedule: true } },          ["p2"]],
  ["NoExecute: never",                               [node("n1", { taints: [taint("t", { effect: "NoExecute" })] })], [p2], { args: { includePreferNoSchedule: true } }, []],
  ["excluded by key",                                [N1],        [p2],                { args: { excludedTaints: ["excluded", "testTaint1"] } }, []],
  ["excluded by key and value",                      [N1],        [p2],                { args: { excludedTaints: ["testTaint1=test1"] } },   []],
  ["excluded with another value",                    [N1],        [p2],                { args: { excludedTaints: ["testTaint1=test2"] } },   ["p2"]],
  ["a taint without value is not key=",              [node("n1", { taints: [taint("a")] })], [p2], { args: { excludedTaints: ["a="] } },     ["p2"]],
  ["tolerates the included, not the others",         [node("n1", { taints: [TAINT, OTHER] })], [p1], { args: { includedTaints: ["testTaint1=test1"] } }, []],
  ["others are included",                            [N1],        [p1, p2, p4],        { args: { includedTaints: ["testTaint2=test2"] } },   []],
  ["included by key and value",                      [N1],        [p1, p2, p3],        { args: { includedTaints: ["testTaint1=test1"] } },   ["p2"]],
  ["included by key",                                [N1],        [p1, p2, p3],        { args: { includedTaints: ["testTaint1"] } },         ["p2"]],
  ["one of two taints not tolerated",                [node("n1", { taints: [TAINT, OTHER] })], [p1], {},                                     ["p1"]],
  ["in a namespace included",                        [N1],        [p2, pod("a", { namespace: "a" })], { args: { namespaces: { include: ["a"] } } }, ["a"]],
  ["not in one excluded",                            [N1],        [p2, pod("a", { namespace: "a" })], { args: { namespaces: { exclude: ["a"] } } }, ["p2"]],
  ["selected by label",                              [N1],        [p2, pod("a", { labels: { app: "a" } })], { args: { labelSelector: labelled({ app: "a" }) } }, ["a"]],
  ["pods that have failed too, if owned",            [N1],        [pod("a", { phase: "Failed" })], {},                                       ["a"]],
];

test.each(rows)("%s", (...[, nodes, pods, how, expected]) => {
  const seen = world({ nodes, pods }, how.evictor);
  expect(evicted(nodeTaints, args(how.args), seen, limits(how.limits ?? {}))).toEqual(expected);
});

describe("order and verdicts", () => {
  const nodes = [N2, N1];
  const pods = ["c", "b", "a"].flatMap((name) => [pod(`1${name}`), pod(`2${name}`, onN2)]);
  // prettier-ignore
  test.each([
    ["by node, then by name",                     [],     true,  undefined,                     ["1a", "1b", "1c", "2a", "2b", "2c"]],
    ["those in progress first, on each node",     ["1c", "2b"], true, undefined,                ["1c", "1a", "1b", "2b", "2a", "2c"]],
    ["unless the arguments say sort: false",      ["1c"], false, undefined,                     ["1a", "1b", "1c", "2a", "2b", "2c"]],
    ["skipped: the next pod",                     [],     true,  saying("Skipped", "1a"),       ["1a", "1b", "1c", "2a", "2b", "2c"]],
    ["node limit: the next node",                 [],     true,  saying("NodeLimit", "1b"),     ["1a", "1b", "2a", "2b", "2c"]],
    ["total limit: nothing more",                 [],     true,  saying("TotalLimit", "1b"),    ["1a", "1b"]],
  ] as const)("%s", (...[, inProgress, sort, judge, expected]) => {
    expect(nominated(nodeTaints, args({ sort }), world({ nodes, pods }, {}, [...inProgress]), judge)).toEqual(expected);
  });

  test("the reason names taint and node", () => {
    const [first] = drive(nodeTaints, args(), world({ nodes, pods }));
    expect(first?.nomination.reason).toBe("it does not tolerate taint testTaint1=test1:NoSchedule of node n1");
  });
});
