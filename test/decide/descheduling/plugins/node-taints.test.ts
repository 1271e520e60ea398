/** RemovePodsViolatingNodeTaints: upstream's cases. */
import { expect, test } from "vitest";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import { type Arguments, nodeTaints } from "../../../../shared/descheduling/plugins/node-taints.ts";
import type { Taint } from "../../../../shared/kube/facts.ts";
import { drive, evicted, node, pod, taint, toleration, world } from "../../../support/descheduling/fixtures.ts";

function args(tweak: Partial<Arguments> = {}): Arguments {
  return { includePreferNoSchedule: false, excludedTaints: [], includedTaints: [], ...tweak };
}

const TAINT = taint("testTaint1", { value: "test1" });
const OTHER = taint("testingTaint1", { value: "testing1" });
const SOFT = taint("testTaint1", { value: "test1", effect: "PreferNoSchedule" });
const NO_EXECUTE = taint("t", { effect: "NoExecute" });

const p1 = pod("p1", { tolerations: [toleration("testTaint1", { value: "test1" })] });
const p2 = pod("p2");
const p4 = pod("p4", { tolerations: [toleration("testTaintX", { value: "testX" })] });

// prettier-ignore
const rows: readonly (readonly [string, readonly Taint[], readonly ScheduledPod[], Partial<Arguments>, readonly string[]])[] = [
  // what                                       taints of n1      pods           arguments                                             evicted
  ["does not tolerate it",                      [TAINT],          [p1, p2],      {},                                                   ["p2"]],
  ["tolerates something else",                  [TAINT],          [p1, p4],      {},                                                   ["p4"]],
  ["one of two taints not tolerated",           [TAINT, OTHER],   [p1],          {},                                                   ["p1"]],
  ["PreferNoSchedule, not asked for",           [SOFT],           [p2],          {},                                                   []],
  ["PreferNoSchedule, asked for",               [SOFT],           [p2],          { includePreferNoSchedule: true },                    ["p2"]],
  ["NoExecute: never",                          [NO_EXECUTE],     [p2],          { includePreferNoSchedule: true },                    []],
  ["excluded by key",                           [TAINT],          [p2],          { excludedTaints: ["excluded", "testTaint1"] },       []],
  ["excluded by key and value",                 [TAINT],          [p2],          { excludedTaints: ["testTaint1=test1"] },             []],
  ["excluded with another value",               [TAINT],          [p2],          { excludedTaints: ["testTaint1=test2"] },             ["p2"]],
  ["a taint without value is not key=",         [taint("a")],     [p2],          { excludedTaints: ["a="] },                           ["p2"]],
  ["tolerates the included, not the others",    [TAINT, OTHER],   [p1],          { includedTaints: ["testTaint1=test1"] },             []],
  ["others are included",                       [TAINT],          [p1, p2, p4],  { includedTaints: ["testTaint2=test2"] },             []],
  ["included by key and value",                 [TAINT],          [p1, p2],      { includedTaints: ["testTaint1=test1"] },             ["p2"]],
  ["included by key",                           [TAINT],          [p1, p2],      { includedTaints: ["testTaint1"] },                   ["p2"]],
  ["pods that have ended: not since 0.34",      [TAINT],          [pod("a", { phase: "Failed" }), pod("b", { phase: "Succeeded" })], {}, []],
];

test.each(rows)("%s", (...[, taints, pods, tweak, expected]) => {
  expect(evicted(nodeTaints, args(tweak), world({ nodes: [node("n1", { taints })], pods }))).toEqual(expected);
});

test("the reason names taint and node", () => {
  const [first] = drive(nodeTaints, args(), world({ nodes: [node("n1", { taints: [TAINT] })], pods: [p2] }));
  expect(first?.nomination.reason).toBe("it does not tolerate taint testTaint1=test1:NoSchedule of node n1");
});
