/**
 * Tests RemovePodsViolatingNodeAffinity, RemovePodsViolatingNodeTaints and PodLifeTime with the test cases of
 * kubernetes-sigs/descheduler.
 */
import { expect, test, describe } from "vitest";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import {
  type Arguments as AffinityArguments,
  nodeAffinity,
} from "../../../../shared/descheduling/plugins/node-affinity.ts";
import {
  ANYWHERE,
  evicted,
  node,
  pod,
  requirement,
  term,
  world,
  taint,
  toleration,
  nominated,
} from "../../../support/descheduling/fixtures.ts";
import { type Arguments as TaintArguments, nodeTaints } from "../../../../shared/descheduling/plugins/node-taints.ts";
import type { Taint } from "../../../../shared/kube/facts.ts";
import { podLifeTime } from "../../../../shared/descheduling/plugins/pod-life-time.ts";
import { NOW } from "../../../support/fixtures.ts";

const ARGS: AffinityArguments = { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] };
const desired = term(requirement("desired", "In", "yes"));
const labels = { desired: "yes" };
const LABELLED = node("labelled", { labels });
const PLAIN = node("plain");
const CORDONED = node("labelled", { labels, unschedulable: true });

const picky = (nodeName: string, tweak: Partial<ScheduledPod> = {}) =>
  pod("picky", { nodeName, placement: { ...ANYWHERE, required: [desired] }, ...tweak });

// prettier-ignore
test.each([
  // the pod                                              its node     the other  tweak                     goes
  ["is on a node that it selects",                        "labelled",  LABELLED,  {},                       false],
  ["could run on another node that it selects",           "plain",     LABELLED,  {},                       true ],
  ["has ended",                                           "plain",     LABELLED,  { phase: "Succeeded" },   false],
  ["selects only a cordoned node",                        "plain",     CORDONED,  {},                       false],
] as const)("RemovePodsViolatingNodeAffinity: a pod that %s is evicted: $3", (...[, nodeName, other, tweak, goes]) => {
  const pods = [picky(nodeName, tweak), pod("a", { nodeName }), pod("b", { nodeName })];
  expect(evicted(nodeAffinity, ARGS, world({ nodes: [PLAIN, other], pods }))).toEqual(goes ? ["picky"] : []);
});

test("RemovePodsViolatingNodeAffinity obeys a nodeSelector only if the pod has required affinity, too", () => {
  const nodes = [LABELLED, node("both", { labels: { desired: "yes", zone: "a" } })];
  const placement = { nodeSelector: { zone: "a" } };
  const pods = [
    pod("alone", { nodeName: "labelled", placement }),
    pod("p", { nodeName: "labelled", placement: { ...placement, required: [desired] } }),
  ];
  expect(evicted(nodeAffinity, ARGS, world({ nodes, pods }))).toEqual(["p"]);
});

function args(tweak: Partial<TaintArguments> = {}): TaintArguments {
  return { includePreferNoSchedule: false, excludedTaints: [], includedTaints: [], ...tweak };
}

const TAINT = taint("testTaint1", { value: "test1" });
const OTHER = taint("testingTaint1", { value: "testing1" });
const SOFT = taint("testTaint1", { value: "test1", effect: "PreferNoSchedule" });
const NO_EXECUTE = taint("t", { effect: "NoExecute" });

const p1 = pod("p1", { tolerations: [toleration("testTaint1", { value: "test1" })] });
const p2 = pod("p2");

// prettier-ignore
const rows: readonly (readonly [string, readonly Taint[], readonly ScheduledPod[], Partial<TaintArguments>, readonly string[]])[] = [
  // RemovePodsViolatingNodeTaints              taints of n1      pods           arguments                              
  // evicted
  ["a pod that does not tolerate the taint",                     [TAINT],          [p1, p2],      {},                                                   ["p2"]],
  ["PreferNoSchedule, by default",                               [SOFT],           [p2],          {},                                                   []],
  ["PreferNoSchedule, if it is included",                        [SOFT],           [p2],          { includePreferNoSchedule: true },                    ["p2"]],
  ["NoExecute",                                                  [NO_EXECUTE],     [p2],          { includePreferNoSchedule: true },                    []],
  ["a taint excluded by key",                                    [TAINT],          [p2],          { excludedTaints: ["excluded", "testTaint1"] },       []],
  ["a taint excluded by key and value",                          [TAINT],          [p2],          { excludedTaints: ["testTaint1=test1"] },             []],
  ["a pod that tolerates the included taint, not the others",    [TAINT, OTHER],   [p1],          { includedTaints: ["testTaint1=test1"] },             []],
  ["a taint included by key and value",                          [TAINT],          [p1, p2],      { includedTaints: ["testTaint1=test1"] },             ["p2"]],
  ["ended pods, ignored since 0.34",                             [TAINT],          [pod("a", { phase: "Failed" }), pod("b", { phase: "Succeeded" })], {}, []],
];

test.each(rows)("RemovePodsViolatingNodeTaints: %s", (...[, taints, pods, tweak, expected]) => {
  expect(evicted(nodeTaints, args(tweak), world({ nodes: [node("n1", { taints })], pods }))).toEqual(expected);
});

const agoSeconds = (seconds: number) => NOW.getTime() - seconds * 1000;
const OLD: Partial<ScheduledPod> = { createdAt: agoSeconds(1_000_000) };
const MAX = { maxPodLifeTimeSeconds: 600 };

function goes(tweak: Partial<ScheduledPod>, given: typeof MAX): boolean {
  return evicted(podLifeTime, given, world({ nodes: [node("n1")], pods: [pod("p", tweak)] })).length === 1;
}

// prettier-ignore
test.each([
  ["601 s old is evicted",                              { createdAt: agoSeconds(601) },            true],
  ["600.9 s old stays, because whole seconds count",    { createdAt: agoSeconds(600.9) },          false],
  ["old and Succeeded is evicted",                      { ...OLD, phase: "Succeeded" },            true],
] as const)("PodLifeTime with a maximum of 600 s: a pod %s", (_, tweak, expected) => expect(goes(tweak, MAX)).toBe(expected));

const aged = (name: string, days: number, nodeName: string) =>
  pod(name, { nodeName, createdAt: agoSeconds(days * 86_400) });

describe("PodLifeTime over all nodes", () => {
  const nodes = [node("n2"), node("n1")];
  const pods = [aged("b", 1, "n1"), aged("a", 1, "n2"), aged("c", 3, "n2"), aged("d", 2, "n1"), pod("young")];
  // prettier-ignore
  test.each([
    ["evicts pods in progress first, then the oldest",  ["b"], undefined,                    ["b", "c", "d", "a"]],
  ] as const)("%s", (...[, inProgress, judge, expected]) => {
    expect(nominated(podLifeTime, MAX, world({ nodes, pods }, {}, [...inProgress]), judge)).toEqual(expected);
  });
});
